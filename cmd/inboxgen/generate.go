package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/inboxgen/inboxgen/generator"
	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/tree"
)

func (a *app) generateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "generate",
		Short: "Write the Go code, migrations and manifest that the spec calls for",
		Long: `Write the Go code, the migrations that are due, and the manifest.

Only what differs is written, each file whole. Generated files of this spec
whose source is gone are removed.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := a.open()
			if err != nil {
				return err
			}
			result := generator.Generate(os.DirFS(p.root), p.spec, p.options())
			if err := a.report(p, result.Diagnostics); err != nil {
				return err
			}
			changes, err := tree.Apply(p.root, result.Files, result.Remove)
			for _, file := range changes.Written {
				fmt.Fprintln(a.stdout, "wrote", a.shown(p, file))
			}
			for _, file := range changes.Removed {
				fmt.Fprintln(a.stdout, "removed", a.shown(p, file))
			}
			if err != nil {
				fmt.Fprintf(a.stderr, "inboxgen: not everything could be written:\n%s\n", err)
				return exitError(exitFindings)
			}
			return nil
		},
	}
}

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Fail with a diff when the tree is not what generate would write",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := a.open()
			if err != nil {
				return err
			}
			result := generator.Generate(os.DirFS(p.root), p.spec, p.options())
			differences, err := tree.Diff(p.root, result.Files, result.Remove)
			if err != nil {
				fmt.Fprintf(a.stderr, "inboxgen: %s\n", err)
				return exitError(exitFindings)
			}
			if diag.Format(a.format) != diag.Text {
				result.Diagnostics = append(result.Diagnostics, outOfDate(differences)...)
			}
			if err := a.report(p, result.Diagnostics); err != nil && len(differences) == 0 {
				return err
			}
			if len(differences) == 0 {
				return nil
			}
			for _, d := range differences {
				fmt.Fprint(a.stdout, d.Diff)
			}
			if diag.Format(a.format) == diag.Text {
				fmt.Fprintln(a.stderr, "inboxgen: the tree is out of date; run inboxgen generate")
			}
			return exitError(exitFindings)
		},
	}
}

// outOfDate says of each file that differs what to do, for the formats that programs read.
func outOfDate(differences []tree.Difference) []diag.Diagnostic {
	var out diag.List
	for _, d := range differences {
		out.Errorf(diag.Position{File: d.Path, Line: 1, Column: 1}, "out-of-date", "this file is not what inboxgen generate leaves; run it, and commit the result")
	}
	return out.Sorted()
}
