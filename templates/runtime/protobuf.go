package runtime

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// decodeProtobuf decodes a message and makes a delivery of it. P is the pointer to M that has its methods.
func decodeProtobuf[M any, P interface {
	*M
	proto.Message
}](d Delivery, message string, of func(P) delivery) (delivery, error) {
	m := P(new(M))
	if err := proto.Unmarshal(d.Body, m); err != nil {
		return delivery{message: message, id: d.known}, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	return of(m), nil
}
