package runtime

import (
	"context"
	"errors"
	"reflect"
	"sync"
)

// WithRouter has f choose the database of each message that comes as a Delivery, for a database per tenant or shard; f must
// always choose the same one for a message, as its marker is where its effect is. A batch is split by database, and each
// part commits on its own. An error of f is classified as any other: wrap ErrDecode where a message is to go to the dead
// letter. The handlers that are given a message, not a Delivery, use the consumer's own database.
func WithRouter(f func(ctx context.Context, d Delivery) (DB, error)) Option {
	return func(i *inbox) { i.route = f }
}

// routed returns the inbox in the database of a message.
func (i *inbox) routed(ctx context.Context, d Delivery) (*inbox, error) {
	if i.route == nil {
		return i, nil
	}
	db, err := i.route(ctx, d)
	switch {
	case err != nil:
		return nil, err
	case db == nil || !reflect.TypeOf(db).Comparable():
		return nil, errors.New("the router must return a database that can be compared, as pointers can")
	}
	there := *i
	there.db = db
	return &there, nil
}

// part is what of a batch goes to one database.
type part struct {
	inbox      *inbox
	deliveries []delivery
	positions  []int // in the batch
}

// parts collects messages by database. Their order within each is kept.
type parts []*part

func (p *parts) add(i *inbox, d delivery, position int) {
	for _, part := range *p {
		if part.inbox.db == i.db {
			part.deliveries, part.positions = append(part.deliveries, d), append(part.positions, position)
			return
		}
	}
	*p = append(*p, &part{i, []delivery{d}, []int{position}})
}

// apply applies all parts at once.
func (p parts) apply(ctx context.Context, results []Result) {
	var group sync.WaitGroup
	for _, part := range p {
		group.Go(func() {
			for n, r := range part.inbox.applyBatch(ctx, part.deliveries) {
				results[part.positions[n]] = r
			}
		})
	}
	group.Wait()
}
