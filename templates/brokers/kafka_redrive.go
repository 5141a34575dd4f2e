//go:build ignore

package brokers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// redriveKafka sends what is in a dead letter, and what choose picks of it, back to where it came from. Messages that are put
// there meanwhile are left alone.
func redriveKafka(ctx context.Context, options []kgo.Opt, topic string, choose func(DeadLetter) bool) (sent int, err error) {
	client, err := kgo.NewClient(append(slices.Clone(options), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	left, err := kafkaSizes(ctx, client, topic)
	if err != nil {
		return 0, fmt.Errorf("offsets of %s: %w", topic, err)
	}
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return sent, err
		}
		for _, r := range fetches.Records() {
			end, waiting := left[r.Partition]
			if waiting && r.Offset < end {
				n, err := redriveRecord(ctx, client, r, choose)
				sent += n
				if err != nil {
					return sent, err
				}
			}
			if r.Offset >= end-1 {
				delete(left, r.Partition)
			}
		}
	}
	return sent, nil
}

// kafkaSizes returns the end of each partition that is not empty.
func kafkaSizes(ctx context.Context, client *kgo.Client, topic string) (map[int32]int64, error) {
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}
	found, err := meta.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	offsets := func(timestamp int64) (map[int32]int64, error) {
		request := kmsg.NewPtrListOffsetsRequest()
		asked := kmsg.ListOffsetsRequestTopic{Topic: topic}
		for _, t := range found.Topics {
			if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
				return nil, err
			}
			for _, p := range t.Partitions {
				of := kmsg.NewListOffsetsRequestTopicPartition()
				of.Partition, of.Timestamp = p.Partition, timestamp
				asked.Partitions = append(asked.Partitions, of)
			}
		}
		request.Topics = []kmsg.ListOffsetsRequestTopic{asked}
		answer, err := request.RequestWith(ctx, client)
		if err != nil {
			return nil, err
		}
		out := map[int32]int64{}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, err
				}
				out[p.Partition] = p.Offset
			}
		}
		return out, nil
	}
	const earliest, latest = -2, -1
	starts, err := offsets(earliest)
	if err != nil {
		return nil, err
	}
	ends, err := offsets(latest)
	maps.DeleteFunc(ends, func(p int32, end int64) bool { return end <= starts[p] })
	return ends, err
}

// redriveRecord sends one message back if it is chosen.
func redriveRecord(ctx context.Context, client *kgo.Client, r *kgo.Record, choose func(DeadLetter) bool) (int, error) {
	d := kafkaDelivery(r)
	origin := d.Headers[letterPrefix+"topic"]
	if origin == "" || !choose(readLetter(d)) {
		return 0, nil
	}
	again := &kgo.Record{Topic: origin, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		if !strings.HasPrefix(h.Key, letterPrefix) {
			again.Headers = append(again.Headers, h)
		}
	}
	if err := client.ProduceSync(ctx, again).FirstErr(); err != nil {
		return 0, fmt.Errorf("send back to %s: %w", origin, err)
	}
	return 1, nil
}
