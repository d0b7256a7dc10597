package server

import (
	"context"

	"toolserver/domain"
)

// readResource serves resources/read, and ends the exchange.
func (x *exchange) readResource(ctx context.Context) {
	uri, wrong := x.text("uri", x.params.uri)
	if wrong != nil {
		x.fail(wrong)
		x.end()
		return
	}
	x.server.exec.ReadResource(ctx, x.domain(), x, uri, func(contents []domain.Content, err error) {
		defer x.recover()
		x.close()
		defer x.end()
		if err != nil {
			x.failWith(err)
			return
		}
		x.answer(func(b []byte) []byte {
			b = appendList(append(b, '{'), "contents", contents, func(b []byte, c domain.Content) []byte { return appendContents(b, &c) })
			if x.params.meta.modern {
				b = appendCaching(b, 0, true)
			}
			return x.appendMeta(b, nil)
		})
	})
}
