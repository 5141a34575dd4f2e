//go:build ignore

package brokers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaOptions is how a consumer reads from Kafka. The zero value has the defaults.
type KafkaOptions struct {
	Consuming
	Partitions int    // handled at once, with a database connection each; default 8
	DeadLetter string // topic for messages that can never be applied; default the spec's
}

// kafkaClientOptions are what a client must be made with for its group to lose nothing: offsets are committed after the
// database, and no partition goes to another member while its messages are being applied.
func kafkaClientOptions(group string, topics []string) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topics...),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(500 * time.Millisecond), // a partition that was set back is not fetched before this has passed
	}
}

// kafkaTurn is how long a partition is worked on before the group may rebalance. A member that keeps the group waiting for
// its rebalance timeout, of a minute, is thrown out.
const kafkaTurn = 10 * time.Second

// kafkaLoop consumes with one client.
type kafkaLoop struct {
	*inbox
	decode  decoder
	client  *kgo.Client
	options KafkaOptions
	failing map[partition]*failing
}

type partition struct {
	topic  string
	number int32
}

// failing is a partition that waits before its first message is tried again.
type failing struct {
	offset   int64
	attempts int
	until    time.Time
}

// progress is how far a partition was handled: the first done of records are settled, and err is why the next is not.
type progress struct {
	partition
	records       []*kgo.Record
	highWatermark int64
	done          int
	err           error
}

// consumeKafka applies what the client polls until ctx is done, and then returns nil. Messages of a partition are applied
// in their order; an error means that one of them must not be passed over.
func (i *inbox) consumeKafka(ctx context.Context, client *kgo.Client, deadLetter string, decode decoder, options KafkaOptions) error {
	if err := checkKafkaClient(client); err != nil {
		return err
	}
	options.Consuming = options.withDefaults()
	if options.Partitions <= 0 {
		options.Partitions = 8
	}
	if options.DeadLetter == "" {
		options.DeadLetter = deadLetter
	}
	l := &kafkaLoop{inbox: i, decode: decode, client: client, options: options, failing: map[partition]*failing{}}
	work, cancel := options.outliving(ctx)
	defer cancel()
	defer l.resume(func(*failing) bool { return true })
	for ctx.Err() == nil {
		err := l.turn(ctx, work)
		client.AllowRebalance()
		if err != nil {
			return err
		}
	}
	return nil
}

// checkKafkaClient refuses a client that would acknowledge what was not applied.
func checkKafkaClient(client *kgo.Client) error {
	blocks, _ := client.OptValue(kgo.BlockRebalanceOnPoll).(bool)
	manual, _ := client.OptValue(kgo.DisableAutoCommit).(bool)
	if group, _ := client.OptValue(kgo.ConsumerGroup).(string); group == "" || !blocks || !manual {
		return errors.New("make the Kafka client with the consumer's KafkaClientOptions: it needs a group, DisableAutoCommit and BlockRebalanceOnPoll")
	}
	return nil
}

// turn polls, applies, and commits the offsets of what is settled.
func (l *kafkaLoop) turn(ctx, work context.Context) error {
	now := time.Now()
	l.resume(func(f *failing) bool { return !f.until.After(now) })
	parts, err := l.poll(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	l.apply(work, parts)
	l.commit(work, parts)
	for _, p := range parts {
		if p.err != nil && Classify(p.err) == Deployment {
			err = errors.Join(err, stopped(p.err))
		}
		l.settle(work, p)
	}
	return err
}

// poll returns the records of the next turn by partition. It waits for the first of them, but no longer than until a
// partition is to be tried again.
func (l *kafkaLoop) poll(ctx context.Context) ([]*progress, error) {
	most := l.options.BatchSize * l.options.Partitions
	wait, cancel := l.untilDue(ctx)
	fetches := l.client.PollRecords(wait, most)
	cancel()
	if n := fetches.NumRecords(); n > 0 && n < most && l.options.Linger > 0 {
		wait, cancel = context.WithTimeout(ctx, l.options.Linger)
		for n < most && wait.Err() == nil {
			more := l.client.PollRecords(wait, most-n)
			n += more.NumRecords()
			fetches = append(fetches, more...)
		}
		cancel()
	}
	var err error
	byPartition := map[partition]*progress{}
	var parts []*progress
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		switch {
		case f.Err == nil, errors.Is(f.Err, context.Canceled), errors.Is(f.Err, context.DeadlineExceeded):
		case errors.Is(f.Err, kgo.ErrClientClosed), isKafkaRefusal(f.Err):
			err = errors.Join(err, stopped(fmt.Errorf("fetch %s/%d: %w", f.Topic, f.Partition, f.Err)))
		default:
			l.warn(ctx, "fetch failed", f.Err, slog.String("topic", f.Topic), slog.Int("partition", int(f.Partition)))
		}
		if len(f.Records) == 0 {
			return
		}
		at := partition{f.Topic, f.Partition}
		if byPartition[at] == nil {
			byPartition[at] = &progress{partition: at}
			parts = append(parts, byPartition[at])
		}
		byPartition[at].records = append(byPartition[at].records, f.Records...)
		byPartition[at].highWatermark = f.HighWatermark
	})
	return parts, err
}

// isKafkaRefusal reports whether the brokers will refuse again however often they are asked.
func isKafkaRefusal(err error) bool {
	var refusal *kerr.Error
	return errors.As(err, &refusal) && slices.Contains([]*kerr.Error{
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.SaslAuthenticationFailed,
		kerr.UnknownTopicOrPartition, kerr.MessageTooLarge,
	}, refusal)
}

func (l *kafkaLoop) untilDue(ctx context.Context) (context.Context, context.CancelFunc) {
	var first time.Time
	for _, f := range l.failing {
		if !f.until.IsZero() && (first.IsZero() || f.until.Before(first)) {
			first = f.until
		}
	}
	if first.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, first)
}

// apply handles partitions at once, as many as the options allow.
func (l *kafkaLoop) apply(ctx context.Context, parts []*progress) {
	deadline := time.Now().Add(kafkaTurn)
	slots := make(chan struct{}, l.options.Partitions)
	var group sync.WaitGroup
	for _, p := range parts {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			for p.err == nil && p.done < len(p.records) && time.Now().Before(deadline) {
				l.applyBatch(ctx, p)
			}
		})
	}
	group.Wait()
}

// applyBatch handles the next records of a partition.
func (l *kafkaLoop) applyBatch(ctx context.Context, p *progress) {
	records := p.records[p.done:]
	records = records[:min(len(records), l.options.BatchSize)]
	in := make([]Delivery, len(records))
	for n, r := range records {
		in[n] = kafkaDelivery(r)
	}
	for n, result := range l.handleBatch(ctx, in, l.decode) {
		if result.Err != nil {
			p.err = l.failed(ctx, p, records[n], result.Err)
		}
		if p.err != nil {
			return
		}
		p.done++
	}
}

func kafkaDelivery(r *kgo.Record) Delivery {
	headers := make(map[string]string, len(r.Headers))
	for _, h := range r.Headers {
		headers[h.Key] = string(h.Value)
	}
	return Delivery{Headers: headers, Body: r.Value}
}

// failed puts a message that can never be applied into the dead letter. It returns why the partition can't go on.
func (l *kafkaLoop) failed(ctx context.Context, p *progress, r *kgo.Record, err error) error {
	if Classify(err) != Poison {
		return err
	}
	if l.options.DeadLetter == "" {
		return stopError{fmt.Errorf("%w: %w", ErrNoDeadLetter, err)}
	}
	attempts := 1
	if f := l.failing[p.partition]; f != nil && f.offset == r.Offset {
		attempts += f.attempts
	}
	dead := &kgo.Record{Topic: l.options.DeadLetter, Key: r.Key, Value: r.Value, Headers: slices.Clone(r.Headers)}
	letter := letter{l.consumer, err, attempts, map[string]string{
		"topic": r.Topic, "partition": strconv.Itoa(int(r.Partition)), "offset": strconv.FormatInt(r.Offset, 10),
	}}
	for name, value := range letter.headers() {
		dead.Headers = append(dead.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if refused := l.client.ProduceSync(limited, dead).FirstErr(); refused != nil {
		refused = fmt.Errorf("%w: %w", ErrDeadLetter, refused)
		if isKafkaRefusal(refused) {
			return stopError{refused}
		}
		return refused
	}
	l.buried(ctx, err)
	return nil
}

// commit acknowledges what is settled. That it fails is no error of the messages: who gets them again finds them applied.
func (l *kafkaLoop) commit(ctx context.Context, parts []*progress) {
	var last []*kgo.Record
	for _, p := range parts {
		if p.done > 0 {
			last = append(last, p.records[p.done-1])
		}
	}
	if len(last) == 0 {
		return
	}
	if err := l.client.CommitRecords(ctx, last...); err != nil {
		l.warn(ctx, "offsets not committed, the messages will come again", err)
	}
}

// settle sets the client back to the first record that is not settled, and has a partition that failed wait.
func (l *kafkaLoop) settle(ctx context.Context, p *progress) {
	l.meter.lag(l.consumer, p.topic, p.number, p.highWatermark-p.records[0].Offset-int64(p.done))
	before := l.failing[p.partition]
	delete(l.failing, p.partition)
	if p.done == len(p.records) {
		return
	}
	next := p.records[p.done]
	which := map[string][]int32{p.topic: {p.number}}
	if p.err != nil {
		f := &failing{offset: next.Offset}
		if before != nil && before.offset == next.Offset {
			f.attempts = before.attempts
		}
		f.attempts++
		wait := l.options.backoff(f.attempts)
		f.until = time.Now().Add(wait)
		l.failing[p.partition] = f
		l.client.PauseFetchPartitions(which)
		l.retried(ctx, p.err, f.attempts, wait, slog.String("topic", p.topic), slog.Int("partition", int(p.number)), slog.Int64("offset", next.Offset))
	}
	l.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{
		p.topic: {p.number: {Epoch: next.LeaderEpoch, Offset: next.Offset}},
	})
}

// resume has the client fetch the partitions again that are due. They are remembered until a turn has handled them, for
// the number of attempts.
func (l *kafkaLoop) resume(due func(*failing) bool) {
	for p, f := range l.failing {
		if !f.until.IsZero() && due(f) {
			f.until = time.Time{}
			l.client.ResumeFetchPartitions(map[string][]int32{p.topic: {p.number}})
		}
	}
}
