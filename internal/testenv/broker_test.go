//go:build linux

package testenv

import (
	"net"
	"os"
	"testing"
)

// TestBrokers starts, kills and restarts each broker, and looks at what stays behind.
func TestBrokers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *Broker{"kafka": PrivateKafka, "rabbitmq": PrivateRabbitMQ} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dir string
			t.Run("run", func(t *testing.T) {
				b := start(t)
				dir = b.dir
				if err := b.Kill(); err != nil {
					t.Fatal(err)
				}
				if conn, err := net.Dial("tcp", b.Addr); err == nil {
					_ = conn.Close()
					t.Error("it answers although it was killed")
				}
				if err := b.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		})
	}
}
