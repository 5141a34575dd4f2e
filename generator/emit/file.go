// Package emit holds what its subpackages, which print a model, have in common.
package emit

import (
	"path"
	"slices"
	"strings"
)

// File is one file that a run leaves in the tree.
type File struct {
	Path string // slash path
	Text []byte
}

// Relative returns the slash path from a directory to a file, both relative to the same root.
func Relative(dir, file string) string {
	from, to := split(dir), split(file)
	common := 0
	for common < len(from) && common < len(to)-1 && from[common] == to[common] {
		common++
	}
	return path.Join(path.Join(slices.Repeat([]string{".."}, len(from)-common)...), path.Join(to[common:]...))
}

func split(p string) []string {
	if p == "." {
		return nil
	}
	return strings.Split(p, "/")
}
