//go:build linux

package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

var rabbitmq = kind{name: "rabbitmq", find: findRabbitMQ, command: rabbitmqCommand, prepare: prepareRabbitMQ, ready: rabbitmqReady}

// findRabbitMQ returns the directory below which usr/lib has rabbitmq and erlang: $INBOXGEN_RABBITMQ_ROOT, which is / for
// one that the system installed, or what scripts/servers.sh fetched.
func findRabbitMQ() (string, error) { return installed("rabbitmq", "INBOXGEN_RABBITMQ_ROOT") }

func prepareRabbitMQ(_ context.Context, b *Broker, _ string) error {
	return errors.Join(b.write("rabbitmq.conf", "log.file = false\nlog.console = true\nlog.console.level = warning\n"), b.write("enabled_plugins", "[].\n"))
}

// rabbitmqCommand runs the node and, in front of it, the name server that Erlang nodes need, on ports of their own.
func rabbitmqCommand(b *Broker, home string) *exec.Cmd {
	erlang := filepath.Join(home, "usr/lib/erlang")
	servers, _ := filepath.Glob(filepath.Join(home, "usr/lib/rabbitmq/lib/rabbitmq_server-*"))
	names, _ := filepath.Glob(filepath.Join(erlang, "erts-*/bin/epmd"))
	if len(servers) == 0 || len(names) == 0 {
		return exec.Command("sh", "-c", "echo no RabbitMQ below "+home+"; exit 1")
	}
	server := servers[len(servers)-1]
	cmd := exec.Command("sh", "-c", `"$0" & exec "$1"`, names[len(names)-1], filepath.Join(server, "sbin/rabbitmq-server"))
	port := b.port()
	cmd.Env = []string{
		"PATH=" + filepath.Join(erlang, "bin") + ":" + os.Getenv("PATH"),
		"HOME=" + b.dir,
		"RABBITMQ_HOME=" + server,
		"RABBITMQ_BASE=" + b.dir,
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(b.dir, "data"),
		"RABBITMQ_LOG_BASE=" + b.dir,
		"RABBITMQ_SCHEMA_DIR=" + filepath.Join(b.dir, "schema"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + filepath.Join(b.dir, "config"),
		"RABBITMQ_CONFIG_FILE=" + filepath.Join(b.dir, "rabbitmq.conf"),
		"RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(b.dir, "enabled_plugins"),
		fmt.Sprintf("RABBITMQ_NODENAME=inboxgen%d@localhost", port),
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
		fmt.Sprint("RABBITMQ_NODE_PORT=", port),
		fmt.Sprint("RABBITMQ_DIST_PORT=", port+1),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		fmt.Sprint("ERL_EPMD_PORT=", port+2),
		"ERL_EPMD_ADDRESS=127.0.0.1",
	}
	return cmd
}

// rabbitmqReady opens a connection as a client does, and waits for the first frame.
func rabbitmqReady(conn net.Conn) error {
	if _, err := conn.Write([]byte("AMQP\x00\x00\x09\x01")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 7))
	return err
}
