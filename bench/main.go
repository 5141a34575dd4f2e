// Command bench measures how long inboxgen takes to generate code for many messages, next to sqlc for the same SQL
// statements. Both run as a user runs them, as a process that starts cold and has nothing to build on, and they take
// turns so that whatever else the machine does hits both.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 9, "how many measured runs of each, of 1,000 messages; a third as many of 10,000")
	keep := flag.Bool("keep", false, "keep the directory with the inputs and what was generated")
	flag.Parse()

	dir, err := os.MkdirTemp("", "inboxgen-bench-")
	if err != nil {
		log.Fatal(err)
	}
	err = bench(dir, 1000, *runs)
	if err == nil {
		err = bench(dir, 10_000, max(1, *runs/3))
	}
	if *keep {
		fmt.Println("kept", dir)
	} else if rmErr := os.RemoveAll(dir); err == nil {
		err = rmErr
	}
	if err != nil {
		log.Fatal(err)
	}
}

func bench(dir string, messages, runs int) error {
	tools, err := prepare(dir, messages)
	if err != nil {
		return err
	}
	for range runs + 1 {
		for _, t := range tools {
			if err := t.measure(); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d messages, one UPDATE each; %d runs in turn after one to warm up; %s %s/%s, %d CPUs\n",
		messages, runs, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, t := range tools {
		t.took = t.took[1:]
		slices.Sort(t.took)
		fmt.Printf("  %-16s median %8s   fastest %8s   slowest %8s   %d files, %d kB\n", t.name,
			round(t.median()), round(t.took[0]), round(t.took[runs-1]), t.files, t.bytes/1000)
	}
	fmt.Printf("  %s takes %.2f times as long as %s and writes %.1f times the bytes\n", tools[0].name,
		float64(tools[0].median())/float64(tools[1].median()), tools[1].name, float64(tools[0].bytes)/float64(tools[1].bytes))
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// tool is one generator, its input, and its times.
type tool struct {
	name  string
	bin   string
	dir   string            // where it runs
	input map[string]string // what it finds there, and nothing else
	took  []time.Duration

	files, bytes int // that it wrote in the last run, to see that the work was done
}

func (t *tool) measure() error {
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	if err := writeAll(t.dir, t.input); err != nil {
		return err
	}
	cmd := exec.Command(t.bin, "generate")
	cmd.Dir = t.dir
	start := time.Now()
	output, err := cmd.CombinedOutput()
	t.took = append(t.took, time.Since(start))
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", t.name, err, output)
	}
	return t.count()
}

func (t *tool) count() error {
	t.files, t.bytes = -len(t.input), 0
	for _, content := range t.input {
		t.bytes -= len(content)
	}
	return filepath.WalkDir(t.dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		t.files++
		t.bytes += int(info.Size())
		return nil
	})
}

// median wants took sorted.
func (t *tool) median() time.Duration {
	middle := len(t.took) / 2
	if len(t.took)%2 == 1 {
		return t.took[middle]
	}
	return (t.took[middle-1] + t.took[middle]) / 2
}

// prepare builds both tools, each with the dependencies that its own module pins.
func prepare(dir string, messages int) ([]*tool, error) {
	bin := filepath.Join(dir, "bin") + string(filepath.Separator)
	if err := build("..", bin, "./cmd/inboxgen"); err != nil {
		return nil, err
	}
	if err := build(".", bin, "github.com/sqlc-dev/sqlc/cmd/sqlc"); err != nil {
		return nil, err
	}
	return []*tool{
		{name: "inboxgen", bin: bin + "inboxgen", dir: filepath.Join(dir, "inboxgen"), input: inboxgenInput(messages)},
		{name: "sqlc", bin: bin + "sqlc", dir: filepath.Join(dir, "sqlc"), input: sqlcInput(messages)},
	}, nil
}

func build(module, bin, pkg string) error {
	cmd := exec.Command("go", "build", "-o", bin, pkg)
	cmd.Dir = module
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	return nil
}

func writeAll(dir string, files map[string]string) error {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
