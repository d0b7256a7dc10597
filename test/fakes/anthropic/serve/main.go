// Command serve serves the fake of Anthropic, with use of several models in it, so that programs that are not written in Go can be
// tested with it. The first line that it prints is its URL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/toolserver/toolserver/test/fakes/anthropic"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := &http.Server{Handler: &anthropic.Server{Rows: rows}, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// rows returns what a day has: of each model another amount.
func rows(path string, start time.Time, _ url.Values) (all []string) {
	for i, model := range anthropic.DefaultModels {
		n := (i + 1) * (start.Day()%7 + 1)
		switch path {
		case anthropic.UsagePath:
			all = append(all, fmt.Sprintf(`{"model":%q,"uncached_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d},"output_tokens":%d,`+
				`"server_tool_use":{"web_search_requests":1}}`, model, 9000*n, 500*n, 700*n))
		case anthropic.CostPath:
			all = append(all, fmt.Sprintf(`{"model":%q,"currency":"USD","amount":"%d.25","cost_type":"tokens"}`, model, 120*n))
		default:
			all = append(all, fmt.Sprintf(`{"date":%q,"actor":{"type":"user_actor","email_address":"ann@example.com"},"model_breakdown":[{"model":%q,`+
				`"tokens":{"input":%d,"output":%d},"estimated_cost":{"currency":"USD","amount":%d}}]}`, start.Format(time.RFC3339), model, 1000*n, 10*n, 31*n))
		}
	}
	return all
}
