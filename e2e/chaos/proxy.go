package main

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
)

// proxy passes connections on, and cuts them.
type proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	conns  map[net.Conn]bool
	cutAt  atomic.Pointer[[]byte] // what the answer must contain for its connection to be cut instead
	onceAt atomic.Int64           // how many connections are still to be cut so
}

func newProxy(target string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target, conns: map[net.Conn]bool{}}
	go p.serve()
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve() {
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
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		go p.pass(server, client, false)
		go p.pass(client, server, true)
	}
}

// pass copies until one side ends, and then ends the other.
func (p *proxy) pass(to, from net.Conn, answers bool) {
	defer p.forget(to, from)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if answers && p.isCut(buffer[:n]) {
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (p *proxy) isCut(answer []byte) bool {
	text := p.cutAt.Load()
	return text != nil && bytes.Contains(answer, *text) && p.onceAt.Add(-1) >= 0
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// cut ends every connection at once.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// cutAnswers swallows the next n answers that contain text, with their connections: what was done is done, and the client
// does not know.
func (p *proxy) cutAnswers(text string, n int64) {
	b := []byte(text)
	p.onceAt.Store(n)
	p.cutAt.Store(&b)
}
