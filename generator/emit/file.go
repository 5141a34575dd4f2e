// Package emit holds what its subpackages, which print a model, have in common.
package emit

// File is one file that a run leaves in the tree.
type File struct {
	Path string // slash path
	Text []byte
}
