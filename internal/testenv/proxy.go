//go:build linux || darwin

package testenv

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy passes TCP connections on to a server, and cuts them.
type Proxy struct {
	listener          net.Listener
	target            string
	requests, answers func() Watch

	mu    sync.Mutex
	conns map[*net.TCPConn]bool
}

// Watch decides where a connection ends. It is given what one side sends, in pieces of any size, and returns how many bytes
// of the piece are still passed on, and whether that was the end.
type Watch func(piece []byte) (pass int, end bool)

// NewProxy starts a proxy. What watches the requests and the answers is made for each connection; nil lets all pass.
func NewProxy(target string, requests, answers func() Watch) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, requests: requests, answers: answers, conns: map[*net.TCPConn]bool{}}
	go p.serve()
	return p, nil
}

// ProxyFor starts a proxy for one test.
func ProxyFor(tb testing.TB, target string, requests, answers func() Watch) *Proxy {
	tb.Helper()
	p, err := NewProxy(target, requests, answers)
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Addr is host:port, for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut ends every connection at once. New ones are passed on.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Cut()
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		go p.join(client.(*net.TCPConn), server.(*net.TCPConn))
	}
}

// join passes both ways until one side ends.
func (p *Proxy) join(client, server *net.TCPConn) {
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { pass(server, client, watch(p.requests)) })
	both.Go(func() { pass(client, server, watch(p.answers)) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []*net.TCPConn{client, server} {
		_ = c.Close()
		delete(p.conns, c)
	}
}

func watch(begin func() Watch) Watch {
	if begin == nil {
		return func(piece []byte) (int, bool) { return len(piece), false }
	}
	return begin()
}

// pass copies until one side ends or the watch says so, and tells both. Then it reads on: a connection that is closed before
// all was read from it loses what is still on its way out, such as the last that was passed.
func pass(to, from *net.TCPConn, watch Watch) {
	defer func() {
		_, _ = to.CloseWrite(), from.CloseWrite()
		_, _ = io.Copy(io.Discard, from)
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		n, end := watch(buffer[:n])
		if end {
			_ = from.CloseWrite() // it hears no answer to what still passes
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil || end {
			return
		}
	}
}
