package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inboxgen/inboxgen/generator"
	"github.com/inboxgen/inboxgen/generator/diag"
)

// Exit codes.
const (
	exitOK       = 0
	exitFindings = 1 // findings, or a tree that is out of date
	exitUsage    = 2 // bad usage, or a spec that can't be read
)

// exitError ends the program with a code after everything was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// app is what all commands share.
type app struct {
	stdout, stderr io.Writer
	dir            string // -C
	spec           string // --spec
	format         string // --format
}

const defaultSpec = "inboxgen.yaml"

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	err := root.Execute()
	var exit exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	default:
		fmt.Fprintf(stderr, "inboxgen: %s\n", err)
		return exitUsage
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "inboxgen",
		Short:         "Generate Go handlers that apply each message to PostgreSQL exactly once",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.dir, "chdir", "C", "", "run as if started in `DIR`")
	flags.StringVar(&a.spec, "spec", "", "the spec `FILE` (default: inboxgen.yaml here or in a parent directory)")
	flags.StringVar(&a.format, "format", string(diag.Text), "how diagnostics are printed: text, json or github")
	root.AddCommand(a.initCommand(), a.generateCommand(), a.checkCommand(), a.explainCommand(), a.schemaCommand(), a.versionCommand())
	return root
}

// project is the spec of this run and the directory that positions and outputs are relative to.
type project struct {
	root string // absolute: the spec's module, or the spec's directory outside a module
	spec string // slash path from root
}

// open finds the spec.
func (a *app) open() (project, error) {
	if !slices.Contains(diag.Formats(), diag.Format(a.format)) {
		return project{}, fmt.Errorf("--format %s is unknown; use text, json or github", a.format)
	}
	file, err := a.specFile()
	if err != nil {
		return project{}, err
	}
	root := moduleRoot(filepath.Dir(file))
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return project{}, err
	}
	return project{root: root, spec: filepath.ToSlash(rel)}, nil
}

// specFile returns the absolute path of the spec.
func (a *app) specFile() (string, error) {
	start, err := filepath.Abs(a.dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return "", fmt.Errorf("-C %s: there is no such directory", a.dir)
	}
	if a.spec != "" {
		file := a.spec
		if !filepath.IsAbs(file) {
			file = filepath.Join(start, file)
		}
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			return "", fmt.Errorf("there is no spec %s; inboxgen init writes one", a.spec)
		}
		return file, nil
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, defaultSpec)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no %s in %s or above it; inboxgen init writes one, --spec FILE names another", defaultSpec, start)
		}
	}
}

// moduleRoot returns the nearest directory with a go.mod at or above dir, or dir.
func moduleRoot(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

func (p project) options() generator.Options {
	return generator.Options{Dir: p.root, Now: time.Now()}
}

// report prints diagnostics and returns an error when one is an error.
func (a *app) report(p project, diags []diag.Diagnostic) error {
	shown := slices.Clone(diags)
	for i := range shown {
		shown[i].Pos.File = a.shown(p, shown[i].Pos.File)
		var mentions []string
		for _, at := range shown[i].Mentions {
			mentions = append(mentions, at.String())
			at.File = a.shown(p, at.File)
			mentions = append(mentions, at.String())
		}
		shown[i].Message = strings.NewReplacer(mentions...).Replace(shown[i].Message)
	}
	source := func(file string) []byte {
		text, err := os.ReadFile(filepath.Join(a.dir, filepath.FromSlash(file)))
		if err != nil {
			return nil
		}
		return text
	}
	if err := diag.Write(a.stderr, shown, diag.Format(a.format), source, isTerminal(a.stderr)); err != nil {
		return err
	}
	if slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
		return exitError(exitUsage)
	}
	return nil
}

// shown returns a path from the root as seen from where the user is.
func (a *app) shown(p project, file string) string {
	here, err := filepath.Abs(a.dir)
	if err != nil {
		return file
	}
	rel, err := filepath.Rel(here, filepath.Join(p.root, filepath.FromSlash(file)))
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// isTerminal reports whether colour is wanted on w. See no-color.org.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || strings.EqualFold(os.Getenv("TERM"), "dumb") {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
