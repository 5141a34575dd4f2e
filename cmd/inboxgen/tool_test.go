package main

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/inboxgen/inboxgen"
	version    = "v0.0.0-test"
)

// TestTool follows the README in a module that is not ours: it gets the tool from a proxy that has this working tree, and
// all else from the module cache, without a network.
func TestTool(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles the tool in a module cache of its own; run without -short")
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	module, modules, ours := t.TempDir(), t.TempDir(), proxy(t)
	in := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = filepath.Join(module, dir)
		cmd.Env = append(os.Environ(),
			"GOPROXY="+fileURL(ours)+","+fileURL(filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")),
			"GOMODCACHE="+modules,
			"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOPRIVATE=", "GONOPROXY=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	in(".", "go", "mod", "init", "example.com/shop")
	in(".", "go", "get", "-tool", modulePath+"/cmd/inboxgen@"+version)
	if err := os.Mkdir(filepath.Join(module, "accounting"), 0o755); err != nil {
		t.Fatal(err)
	}
	in("accounting", "go", "tool", "inboxgen", "init")
	in(".", "go", "generate", "./...")
	in(".", "go", "mod", "tidy")
	in(".", "go", "build", "./...")
	in(".", "go", "vet", "./...")
	if got, want := in("accounting", "go", "tool", "inboxgen", "version"), "inboxgen "+version+"\n"; got != want {
		t.Errorf("version %q, want %q", got, want)
	}
	if out := in(".", "go", "tool", "inboxgen", "check", "--spec", "accounting/inboxgen.yaml"); out != "" {
		t.Errorf("check says %s", out)
	}
	if mod, err := os.ReadFile(filepath.Join(module, "go.mod")); err != nil || strings.Contains(string(mod), "replace") ||
		!strings.Contains(string(mod), "tool "+modulePath+"/cmd/inboxgen\n") {
		t.Errorf("%v\n%s", err, mod)
	}
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

// proxy lays the working tree out as a module proxy does, and returns the proxy's directory.
func proxy(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	versions := filepath.Join(dir, filepath.FromSlash(modulePath), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(versions, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := archive(file, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// archive writes a module's files, without modules inside it and directories that are no code.
func archive(file *os.File, tree fs.FS) error {
	w := zip.NewWriter(file)
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if e.IsDir() {
			_, err := fs.Stat(tree, name+"/go.mod")
			if err == nil || strings.HasPrefix(e.Name(), ".") || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		out, err := w.Create(modulePath + "@" + version + "/" + name)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}
