// Package sales has a file with the name of a generated one.
package sales
