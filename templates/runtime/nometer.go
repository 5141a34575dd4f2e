package runtime

import (
	"context"
	"time"
)

// noMeter counts nothing.
type noMeter struct{}

func (noMeter) message(context.Context, Event)   {}
func (noMeter) batch(string, int, time.Duration) {}
func (noMeter) retried(string)                   {}
func (noMeter) buried(string, string, string)    {}
func (noMeter) lag(string, string, int32, int64) {}
func (noMeter) purged(string, int64, bool)       {}
