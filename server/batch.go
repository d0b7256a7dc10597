package server

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/domain"
	"toolserver/jsonrpc"
)

// maxBatch bounds the messages of a batch.
const maxBatch = 100

// parseBatch splits a batch, which only protocol version 2025-03-26 supports.
func parseBatch(ses *session, raw []byte) ([]json.RawMessage, *jsonrpc.Error) {
	if ses.handshake().version != mcp.ProtocolVersion20250326 {
		return nil, invalidRequest("batches belong to protocol version 2025-03-26, which this session has not negotiated")
	}
	return jsonrpc.ParseBatch(raw, maxBatch)
}

// openBatch takes in the messages of a batch: its requests can be canceled from
// now on. serve serves them concurrently and answers as soon as all of them are
// finished, if there is something to answer; it returns with the last handler.
func (s *Server) openBatch(ctx context.Context, ses *session, who caller, batch []json.RawMessage, out sink) (serve func(), answers bool) {
	all := &batchSink{out: out}
	var opened []func()
	for _, raw := range batch {
		msg, err := parse(raw)
		if err != nil {
			all.answer(jsonrpc.ErrorResponse(msg.ID, err), err.Code)
		} else if x := s.open(ctx, ses, who, msg, all); x != nil {
			x.ended = all.ended
			opened = append(opened, x.serve)
		}
	}
	all.pending.Store(int64(len(opened)) + 1) // and this function
	return func() {
		var handlers sync.WaitGroup
		for _, serve := range opened {
			handlers.Go(serve)
		}
		all.ended()
		handlers.Wait()
	}, all.all != nil || len(opened) > 0
}

// batchSink collects the answers of a batch. Notifications do not wait for them.
type batchSink struct {
	out     sink
	pending atomic.Int64 // requests that are not finished

	mu   sync.Mutex
	all  []byte // nil before the first answer
	code int    // of a call that is out of time
}

func (b *batchSink) notify(msg []byte) bool { return b.out.notify(msg) }

func (b *batchSink) answer(msg []byte, code int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if code == int(domain.CodeTimeout) {
		b.code = code
	}
	if b.all == nil {
		b.all = append(b.all, '[')
	} else {
		b.all = append(b.all, ',')
	}
	b.all = append(b.all, msg...)
}

// ended notes the end of a request. After the last one it answers, if there is
// an answer.
func (b *batchSink) ended() {
	if b.pending.Add(-1) > 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all != nil {
		b.out.answer(append(b.all, ']'), b.code)
	}
}
