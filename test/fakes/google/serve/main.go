// Command serve serves the fake of Google, with two accounts in it, so that programs that are not written in Go can be tested
// with it. The first line that it prints is its URL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/toolserver/toolserver/test/fakes/google"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	id := flag.String("client-id", "test-client", "ID of the OAuth client")
	secret := flag.String("client-secret", "test-secret", "secret of the OAuth client")
	discovery := flag.String("discovery", "", "directory of the Go module google.golang.org/api; found with the go command if it is empty")
	flag.Parse()
	fake, err := google.New(google.Options{ClientID: *id, ClientSecret: *secret, Discovery: *discovery})
	if err != nil {
		return err
	}
	seed(fake)
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := &http.Server{Handler: fake, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	for _, v := range fake.Violations() {
		fmt.Fprintln(os.Stderr, "violation:", v)
	}
	return nil
}

// seed adds alice, who has 30 mails and 10 events, and bob, who has none.
func seed(f *google.Fake) {
	const alice, bob = "alice@example.com", "bob@example.com"
	f.AddUser(google.User{Email: alice, TimeZone: "Europe/Berlin", TestUser: true, SendAs: []string{"alias@example.com"}})
	f.AddUser(google.User{Email: bob, TimeZone: "America/New_York", TestUser: true})
	for i := range 30 {
		mail := fmt.Sprintf("From: Bob <%s>\r\nTo: Alice <%s>\r\nSubject: Message %d\r\nMessage-ID: <seed-%d@example.com>\r\n"+
			"Date: Mon, 2 Nov 2026 10:%02d:00 +0000\r\nMIME-Version: 1.0\r\n", bob, alice, i, i, i)
		switch i % 3 {
		case 0:
			mail += fmt.Sprintf("Content-Type: text/plain; charset=utf-8\r\n\r\nThis is the text of message %d.\r\n", i)
		case 1:
			mail += fmt.Sprintf("Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"+
				"Plain %d\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Rich <b>%d</b></p>\r\n--b--\r\n", i, i)
		default:
			mail += "Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nWith a file\r\n" +
				"--m\r\nContent-Type: text/csv; name=table.csv\r\nContent-Disposition: attachment; filename=table.csv\r\n" +
				"Content-Transfer-Encoding: base64\r\n\r\nYSxiCjEsMgo=\r\n--m--\r\n"
		}
		f.Deliver(alice, []byte(mail))
	}
	day := time.Now().UTC().Truncate(24 * time.Hour)
	for i := range 10 {
		start := day.AddDate(0, 0, i).Add(9 * time.Hour)
		f.AddEvent(alice, "primary", fmt.Sprintf(`{"summary":"Event %d","start":{"dateTime":%q},"end":{"dateTime":%q}}`,
			i, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)))
	}
}
