package generator

import (
	"os"
	"testing"
	"time"
	"runtime"
)

func BenchmarkGenerate(b *testing.B) {
	dir := os.Getenv("BENCHDIR")
	for b.Loop() {
		r := Generate(os.DirFS(dir), "inboxgen.yaml", Options{Dir: dir, Now: time.Now()})
		if len(r.Files) == 0 { b.Fatal(r.Diagnostics) }
		runtime.KeepAlive(r)
	}
}
