// Package parallel shares work out to the processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls f with 0 to n-1, from one goroutine for each processor, and returns when all calls have.
func Do(n int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	group.Wait()
}
