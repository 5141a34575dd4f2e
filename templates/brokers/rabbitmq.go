//go:build ignore

package brokers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// DialRabbitMQ opens a connection. A consumer calls it again whenever it has lost one.
type DialRabbitMQ func(ctx context.Context) (*amqp.Connection, error)

// RabbitMQOptions is how a consumer reads from RabbitMQ. The zero value has the defaults.
type RabbitMQOptions struct {
	Consuming
	Queue     string     // default the spec's
	Prefetch  int        // unacknowledged messages of each reader; default the spec's
	Readers   int        // connections that read the queue, with a database connection each; default 1, which keeps its order
	Arguments amqp.Table // of basic.consume

	// DeadLetterExchange and DeadLetterKey are where a message that can never be applied is published. When both are empty,
	// it is rejected: the queue's own dead-letter exchange gets it, or nobody where the queue has none.
	DeadLetterExchange, DeadLetterKey string
}

// consumeRabbitMQ applies what the queue delivers until ctx is done, and then returns nil. A lost connection is opened again.
// An error means that a message must not be passed over, or that the broker refuses access.
func (i *inbox) consumeRabbitMQ(ctx context.Context, dial DialRabbitMQ, queue string, prefetch int, decode decoder, options RabbitMQOptions) error {
	options.Consuming = options.withDefaults()
	if options.Prefetch <= 0 {
		options.Prefetch = prefetch
	}
	if options.Queue == "" {
		options.Queue = queue
	}
	if options.Prefetch > math.MaxUint16 {
		return stopped(fmt.Errorf("queue %s: a prefetch of %d is more than the %d that RabbitMQ can be asked for", options.Queue, options.Prefetch, math.MaxUint16))
	}
	options.BatchSize = min(options.BatchSize, options.Prefetch) // or a batch would never fill
	work, cancel := options.outliving(ctx)
	defer cancel()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, max(options.Readers, 1))
	var group sync.WaitGroup
	for n := range errs {
		group.Go(func() {
			r := &rabbitmqReader{inbox: i, dial: dial, decode: decode, options: options}
			errs[n] = r.run(ctx, work)
			stop()
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// rabbitmqReader reads the queue on one connection at a time.
type rabbitmqReader struct {
	*inbox
	dial      DialRabbitMQ
	decode    decoder
	options   RabbitMQOptions
	publisher *rabbitmqPublisher
}

// run keeps a session open until ctx is done.
func (r *rabbitmqReader) run(ctx, work context.Context) error {
	defer func() { r.publisher.close() }()
	for attempts := 1; ctx.Err() == nil; attempts++ {
		start := time.Now()
		err := r.session(ctx, work)
		var refused *amqp.Error
		switch {
		case ctx.Err() != nil && !isStop(err), err == nil:
			return nil
		case isStop(err):
			return stopped(err)
		case errors.Is(err, errIdle):
			attempts = 0
			continue
		case errors.As(err, &refused) && refused.Code == amqp.AccessRefused:
			return stopped(fmt.Errorf("queue %s: %w", r.options.Queue, err))
		}
		if time.Since(start) > r.options.MaxBackoff {
			attempts = 1
		}
		wait := r.options.backoff(attempts)
		r.warn(ctx, "session ended, it will be opened again", err, slog.String("queue", r.options.Queue), slog.Duration("wait", wait))
		sleep(ctx, wait)
	}
	return nil
}

func isStop(err error) bool {
	var stop stopError
	return errors.As(err, &stop)
}

// errIdle ends a session that has had no message for long, to open another. A quorum queue that is deleted and at once made
// again is one that RabbitMQ 3 neither ends the session of nor delivers to.
var errIdle = errors.New("no message for long")

// rabbitmqSession is one channel and what tells that it has ended. Each has notifications of its own: those of an older
// channel, and acknowledgements on it, must not reach a newer one.
type rabbitmqSession struct {
	channel    *amqp.Channel
	deliveries <-chan amqp.Delivery
	ended      chan error // has the reason, once
}

// session opens a channel, and applies batches until it ends or ctx is done.
func (r *rabbitmqReader) session(ctx, work context.Context) error {
	conn, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseDeadline(time.Now().Add(5 * time.Second)) }() // what is not acknowledged comes again
	s, err := openRabbitMQ(ctx, conn, r.options)
	if err != nil {
		return err
	}
	for {
		batch, err := s.collect(ctx, r.options)
		if len(batch) == 0 {
			return err
		}
		if err := r.handle(ctx, work, s, batch); err != nil {
			return err
		}
	}
}

func openRabbitMQ(ctx context.Context, conn *amqp.Connection, options RabbitMQOptions) (*rabbitmqSession, error) {
	channel, err := openChannel(ctx, conn)
	if err != nil {
		return nil, err
	}
	if err := channel.Qos(options.Prefetch, 0, false); err != nil {
		return nil, err
	}
	s := &rabbitmqSession{channel: channel, ended: make(chan error, 1)}
	closed, cancelled := channel.NotifyClose(make(chan *amqp.Error, 1)), channel.NotifyCancel(make(chan string, 1))
	// A deleted queue cancels the consumer and closes nothing.
	go func() {
		select {
		case err := <-closed:
			if err == nil {
				s.ended <- errors.New("the channel was closed")
				return
			}
			s.ended <- err
		case <-cancelled:
			s.ended <- fmt.Errorf("the broker cancelled the consumer of queue %s", options.Queue)
		}
	}()
	s.deliveries, err = channel.Consume(options.Queue, "", false, false, false, false, options.Arguments)
	return s, err
}

// openChannel gives up when ctx ends or the network is dead, where Channel would wait for ever.
func openChannel(ctx context.Context, conn *amqp.Connection) (*amqp.Channel, error) {
	type result struct {
		channel *amqp.Channel
		err     error
	}
	opened := make(chan result, 1)
	go func() {
		channel, err := conn.Channel()
		opened <- result{channel, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	select {
	case r := <-opened:
		return r.channel, r.err
	case <-ctx.Done():
		_ = conn.CloseDeadline(time.Now()) // ends the goroutine
		return nil, fmt.Errorf("open a channel: %w", ctx.Err())
	}
}

// collect waits for a message, and then a little for more. It returns none when ctx is done or the session has ended.
func (s *rabbitmqSession) collect(ctx context.Context, options RabbitMQOptions) ([]amqp.Delivery, error) {
	var batch []amqp.Delivery
	idle := time.NewTimer(10 * options.MaxBackoff)
	defer idle.Stop()
	select {
	case <-ctx.Done():
		return nil, nil
	case err := <-s.ended:
		return nil, err
	case <-idle.C:
		return nil, errIdle
	case d, ok := <-s.deliveries:
		if !ok {
			return nil, <-s.ended
		}
		batch = append(batch, d)
	}
	linger := time.NewTimer(max(options.Linger, 0))
	defer linger.Stop()
	for len(batch) < options.BatchSize {
		select {
		case d, ok := <-s.deliveries:
			if !ok {
				return batch, nil
			}
			batch = append(batch, d)
			continue
		default:
		}
		select {
		case d, ok := <-s.deliveries:
			if !ok {
				return batch, nil
			}
			batch = append(batch, d)
		case <-linger.C:
			return batch, nil
		case <-ctx.Done():
			return batch, nil
		}
	}
	return batch, nil
}

// handle applies a batch and acknowledges it, in as many attempts as that takes. The messages wait here meanwhile: the
// prefetch bounds how many, and their order is kept.
func (r *rabbitmqReader) handle(ctx, work context.Context, s *rabbitmqSession, batch []amqp.Delivery) error {
	for attempts := 1; len(batch) > 0; attempts++ {
		done, last, failure := r.apply(work, batch, attempts)
		if last > 0 {
			if err := s.channel.Ack(last, true); err != nil {
				return err
			}
		}
		if done > 0 {
			batch, attempts = batch[done:], 1
		}
		if failure == nil {
			continue
		}
		if Classify(failure) == Deployment {
			return stopError{failure}
		}
		wait := r.options.backoff(attempts)
		r.retried(ctx, failure, attempts, wait, slog.String("queue", r.options.Queue))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case err := <-s.ended:
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err() // the session must end: a later acknowledgement would include these messages
		}
	}
	return nil
}

// apply returns how many messages from the first on are settled, the tag up to which they are to be acknowledged, and why
// the next one is not.
func (r *rabbitmqReader) apply(ctx context.Context, batch []amqp.Delivery, attempts int) (done int, last uint64, failure error) {
	in := make([]Delivery, len(batch))
	for n, d := range batch {
		in[n] = rabbitmqDelivery(d)
	}
	for n, result := range r.handleBatch(ctx, in, r.decode) {
		if result.Err == nil {
			last = batch[n].DeliveryTag
			continue
		}
		if Classify(result.Err) != Poison {
			return n, last, result.Err
		}
		rejected, err := r.bury(ctx, batch[n], result.Err, attempts)
		if err != nil {
			return n, last, err
		}
		if !rejected {
			last = batch[n].DeliveryTag
		}
	}
	return len(batch), last, nil
}

func rabbitmqDelivery(d amqp.Delivery) Delivery {
	headers := make(map[string]string, len(d.Headers))
	for name, value := range d.Headers {
		switch value := value.(type) {
		case []byte:
			headers[name] = string(value)
		default:
			headers[name] = fmt.Sprint(value)
		}
	}
	return Delivery{Type: d.Type, ID: d.MessageId, Headers: headers, Body: d.Body}
}

// bury puts a message that can never be applied where the options say. One that is rejected must not be acknowledged too.
func (r *rabbitmqReader) bury(ctx context.Context, d amqp.Delivery, failure error, attempts int) (rejected bool, err error) {
	if r.options.DeadLetterExchange == "" && r.options.DeadLetterKey == "" {
		if err := d.Nack(false, false); err != nil {
			return false, fmt.Errorf("%w: %w", ErrDeadLetter, err)
		}
		r.buried(ctx, failure)
		return true, nil
	}
	headers := maps.Clone(d.Headers)
	if headers == nil {
		headers = amqp.Table{}
	}
	if returned, ok := d.Headers["x-delivery-count"].(int64); ok { // a quorum queue counts those that came back to it
		attempts += int(returned)
	}
	origin := map[string]string{"queue": r.options.Queue, "exchange": d.Exchange, "routing-key": d.RoutingKey}
	for name, value := range (letter{r.consumer, failure, attempts, origin}).headers() {
		headers[name] = value
	}
	if err := r.publish(ctx, amqp.Publishing{
		Headers: headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: amqp.Persistent,
		Priority: d.Priority, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, MessageId: d.MessageId, Timestamp: d.Timestamp,
		Type: d.Type, AppId: d.AppId, Body: d.Body,
	}); err != nil {
		return false, fmt.Errorf("%w: %w", ErrDeadLetter, err)
	}
	r.buried(ctx, failure)
	return false, nil
}

// publish sends a dead letter and waits until the broker has it, on a connection of its own: one that is blocked for
// publishing must not keep acknowledgements back.
func (r *rabbitmqReader) publish(ctx context.Context, message amqp.Publishing) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var err error
	if r.publisher == nil {
		if r.publisher, err = openPublisher(ctx, r.dial); err != nil {
			return err
		}
	}
	if err = r.publisher.publish(ctx, r.options.DeadLetterExchange, r.options.DeadLetterKey, message); err != nil {
		r.publisher.close() // it may still have an answer on its way
		r.publisher = nil
	}
	return err
}

// rabbitmqPublisher publishes one message at a time, with confirmation.
type rabbitmqPublisher struct {
	conn     *amqp.Connection
	channel  *amqp.Channel
	returned chan amqp.Return
	closed   chan *amqp.Error
}

func openPublisher(ctx context.Context, dial DialRabbitMQ) (*rabbitmqPublisher, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	p := &rabbitmqPublisher{conn: conn}
	if p.channel, err = openChannel(ctx, conn); err == nil {
		p.returned = p.channel.NotifyReturn(make(chan amqp.Return, 1))
		p.closed = p.channel.NotifyClose(make(chan *amqp.Error, 1))
		err = p.channel.Confirm(false)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// publish returns nil once the broker has the message in a queue.
func (p *rabbitmqPublisher) publish(ctx context.Context, exchange, key string, message amqp.Publishing) error {
	confirmation, err := p.channel.PublishWithDeferredConfirmWithContext(ctx, exchange, key, true, false, message)
	if err == nil {
		err = p.taken(ctx, confirmation)
	}
	if err != nil {
		return fmt.Errorf("exchange %q, key %q: %w", exchange, key, err)
	}
	return nil
}

// taken returns nil once a queue has the message. One that no queue takes is confirmed as well, after it was returned; one
// whose exchange is not there is refused by the end of the channel, which says why.
func (p *rabbitmqPublisher) taken(ctx context.Context, confirmation *amqp.DeferredConfirmation) error {
	confirmed, err := confirmation.WaitContext(ctx)
	if err != nil {
		return err
	}
	select {
	case back, ok := <-p.returned:
		if ok {
			return errors.New(back.ReplyText)
		}
	default:
	}
	if confirmed {
		return nil
	}
	select {
	case reason := <-p.closed:
		if reason != nil {
			return reason
		}
	default:
	}
	return errors.New("the broker did not take the message")
}

func (p *rabbitmqPublisher) close() {
	if p != nil {
		_ = p.conn.CloseDeadline(time.Now().Add(5 * time.Second))
	}
}

// sleep waits, but no longer than ctx.
func sleep(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
