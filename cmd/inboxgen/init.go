package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/inboxgen/inboxgen/generator/plan"
)

//go:embed init.yaml
var initialSpec string

// initialGenerate is in two pieces: go generate would take a line of this file for a directive.
const initialGenerate = "package %s\n\n//go:" + "generate go tool inboxgen generate\n"

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a commented spec and a generate.go to start from",
		Long:  "Write a commented spec and a generate.go to start from. Files that exist are never overwritten.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.init()
		},
	}
}

func (a *app) init() error {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	specName := defaultSpec
	if a.spec != "" {
		specName = a.spec
	}
	packageName := plan.DefaultPackage(filepath.Base(dir))
	files := []struct{ name, text string }{
		{specName, initialSpec},
		{filepath.Join(filepath.Dir(specName), "generate.go"), fmt.Sprintf(initialGenerate, packageName)},
	}
	for _, f := range files {
		path := f.name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			fmt.Fprintf(a.stdout, "kept  %s, which is there already\n", f.name)
			continue
		}
		if err != nil {
			return err
		}
		_, err = file.WriteString(f.text)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "wrote %s\n", f.name)
	}
	fmt.Fprint(a.stdout, `
Next:
  1. describe your messages and their SQL in the spec
  2. go get -tool github.com/inboxgen/inboxgen/cmd/inboxgen
  3. go generate ./... && go mod tidy
  4. apply the migration it wrote with your migration tool, and commit everything
`)
	return nil
}
