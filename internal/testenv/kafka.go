//go:build linux

package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
)

var kafka = kind{name: "kafka", find: findKafka, command: kafkaCommand, prepare: prepareKafka, ready: func(net.Conn) error { return nil }}

// findKafka returns the directory of Kafka's jars: $INBOXGEN_KAFKA_LIBS, or what scripts/servers.sh fetched.
func findKafka() (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", notFound("kafka (java is missing)", "PATH")
	}
	return installed("kafka", "INBOXGEN_KAFKA_LIBS")
}

// prepareKafka makes one node that is broker and controller. It opens its port when it can serve.
func prepareKafka(ctx context.Context, b *Broker, home string) error {
	properties := fmt.Sprintf(`process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://%[1]s,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=PLAINTEXT://%[1]s
controller.quorum.voters=1@127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
log.dirs=%[3]s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.consumer.heartbeat.interval.ms=500
group.consumer.min.heartbeat.interval.ms=500
group.consumer.min.session.timeout.ms=3000
group.min.session.timeout.ms=1000
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=2
log.cleaner.enable=false
`, b.Addr, b.port()+1, filepath.Join(b.dir, "data"))
	if err := b.write("server.properties", properties); err != nil {
		return err
	}
	args := append(java(home), "kafka.tools.StorageTool", "format", "-t", "aW5ib3hnZW4tdGVzdGVudg", "-c", "server.properties")
	return errors.Join(runAsServer(ctx, b.dir, args[0], args[1:]...))
}

func kafkaCommand(_ *Broker, home string) *exec.Cmd {
	args := append(java(home), "kafka.Kafka", "server.properties")
	return exec.Command(args[0], args[1:]...)
}

// java starts quickly and stays small.
func java(libs string) []string {
	return []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx512m", "-Djava.io.tmpdir=.", "-cp", filepath.Join(libs, "*")}
}
