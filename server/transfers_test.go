package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain/call"
)

// open returns an open file with content.
func open(t *testing.T, content string) *os.File {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return f
}

func isOpen(f *os.File) bool {
	_, err := f.Stat()
	return err == nil
}

// TestTransfersExpire has files closed that nobody asks for any more, but none that is being sent.
func TestTransfersExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := fixture(t)
		idle, sent := open(t, "idle"), open(t, "sent")
		s.transfer("ann", downloadHeader, idle, call.File{Size: 4}, 0)
		token, sending := s.transfer("ann", downloadHeader, sent, call.File{Size: 4}, 0)
		begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan string)
		go func() {
			w := &slow{ResponseRecorder: httptest.NewRecorder(), begun: begun, goOn: goOn}
			refused := (&httpHandler{server: s}).send(w, httptest.NewRequest("GET", downloadsPath, nil), sending)
			if refused != nil {
				t.Error(refused.text)
			}
			ended <- w.Body.String()
		}()
		<-begun
		time.Sleep(transferTime - time.Second)
		if synctest.Wait(); !isOpen(idle) || !isOpen(sent) {
			t.Error("a file was closed early")
		}
		time.Sleep(time.Second)
		if synctest.Wait(); isOpen(idle) {
			t.Error("a file is open that nobody may get")
		}
		if !isOpen(sent) {
			t.Error("a file was closed that is being sent")
		}
		close(goOn)
		if got := <-ended; got != "sent" || isOpen(sent) {
			t.Errorf("sent %q, still open: %v", got, isOpen(sent))
		}
		if _, known := s.files.Get("ann", downloadHeader+token); known {
			t.Error("the address is still good")
		}
		if refused := (&httpHandler{server: s}).send(httptest.NewRecorder(), httptest.NewRequest("GET", downloadsPath, nil), sending); refused == nil || refused.status != http.StatusGone {
			t.Errorf("a file that was closed just now: %+v", refused)
		}
	})
}

// slow is a response that waits before its content.
type slow struct {
	*httptest.ResponseRecorder
	begun, goOn chan struct{}
}

func (s *slow) Write(b []byte) (int, error) {
	close(s.begun)
	<-s.goOn
	return s.ResponseRecorder.Write(b)
}

// TestTransfersAreBounded has the oldest of the principal with the most closed, also while it comes.
func TestTransfersAreBounded(t *testing.T) {
	s, _ := fixture(t)
	other, first := open(t, ""), open(t, "")
	s.transfer("bob", downloadHeader, other, call.File{}, 0)
	s.transfer("ann", downloadHeader, first, call.File{}, 0)
	for range maxTransfers - 2 {
		s.transfer("ann", downloadHeader, open(t, ""), call.File{}, 0)
	}
	if !isOpen(first) {
		t.Error("a file was closed early")
	}
	s.transfer("ann", downloadHeader, open(t, ""), call.File{}, 0)
	if isOpen(first) || !isOpen(other) {
		t.Errorf("open: %v, %v", isOpen(first), isOpen(other))
	}

	s.files.Clear()
	_, upload := s.transfer("ann", uploadHeader, open(t, ""), call.File{Size: 8}, maxUploaded/2+1)
	body, more := io.Pipe()
	refused := make(chan *refusal)
	go func() {
		r := (&httpHandler{server: s}).receive(httptest.NewRecorder(), httptest.NewRequest("PUT", uploadsPath, body), upload)
		body.Close()
		refused <- r
	}()
	more.Write([]byte("cont"))
	s.transfer("ann", uploadHeader, open(t, ""), call.File{}, maxUploaded/2)
	more.Write([]byte("ent!"))
	more.Close()
	if r := <-refused; r == nil || r.status != http.StatusInsufficientStorage || !strings.Contains(r.text, "expired") || strings.Contains(r.text, os.TempDir()) {
		t.Errorf("an upload for which there is no room any more: %+v", r)
	}
}

// TestReceivesOnce has one of several requests send a file.
func TestReceivesOnce(t *testing.T) {
	s, _ := fixture(t)
	f := open(t, "longer than what comes")
	f.Seek(0, io.SeekStart)
	_, upload := s.transfer("ann", uploadHeader, f, call.File{Size: 7}, 7)
	var (
		all  sync.WaitGroup
		good atomic.Int32
	)
	for range 8 {
		all.Go(func() {
			refused := (&httpHandler{server: s}).receive(httptest.NewRecorder(), httptest.NewRequest("PUT", uploadsPath, strings.NewReader("content")), upload)
			if refused == nil {
				good.Add(1)
			} else if refused.status != http.StatusConflict {
				t.Error(refused.text)
			}
		})
	}
	all.Wait()
	got, err := io.ReadAll(upload)
	if err != nil || good.Load() != 1 || string(got) != "content" {
		t.Errorf("%d were taken: %q, %v", good.Load(), got, err)
	}
}
