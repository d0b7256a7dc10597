// Upstream is an MCP server for gateways to be measured with. It does as little as a
// server can that clients connect to, and the same in both protocol versions, over stdio
// or over HTTP on the address it is given, which it prints when it listens.
//
// Its tools are echo, whose answer is always the same, nap, which sleeps, die, which ends
// the process, and as many ordinary ones as -tools says.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const modern = "2026-07-28"

// upstream is the server: answers without their beginning up to the id.
type upstream struct {
	version     string
	nap         time.Duration
	results     map[string][]byte // by method
	napped      []byte
	initialized string // members of the result of initialize besides the version
	refused     []byte

	mu  sync.Mutex // of out
	out *bufio.Writer
}

func main() {
	version := flag.String("version", "2025-11-25", "the one protocol `version` it speaks")
	file := flag.String("text", "", "`file` with the text of each answer of echo, as JSON")
	tools := flag.Int("tools", 0, "offer so many ordinary tools, too")
	subject := flag.String("subject", "invoice", "what the ordinary tools are about")
	nap := flag.Duration("nap", 200*time.Millisecond, "how long nap sleeps")
	flag.Parse()
	switch os.Getenv("UPSTREAM") { // not a flag, so that it is the same server
	case "hang":
		io.Copy(io.Discard, os.Stdin)
		return
	case "crash":
		log.Fatal("cannot open the database")
	}
	text := []byte(`"Echo: hello"`)
	if *file != "" {
		var err error
		if text, err = os.ReadFile(*file); err != nil {
			log.Fatal(err)
		}
	}
	u := newUpstream(*version, text, *nap, offer(*tools, *subject))
	if flag.NArg() == 0 {
		u.serveStdio()
		return
	}
	l, err := net.Listen("tcp", flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, u))
}

func newUpstream(version string, text []byte, nap time.Duration, tools string) *upstream {
	u := &upstream{version: version, nap: nap, results: map[string][]byte{}, out: bufio.NewWriterSize(os.Stdout, 64<<10)}
	result := func(members string) []byte {
		if version == modern {
			members = cmp.Or(members, `"x":0`) + `,"resultType":"complete"`
		}
		return []byte(`,"result":{` + members + `}}`)
	}
	const about = `"capabilities":{"tools":{}},"serverInfo":{"name":"upstream","version":"1"}`
	listed := `"tools":[` + tools + `]`
	if version == modern {
		const cache = `,"ttlMs":0,"cacheScope":"private"`
		listed += cache
		u.results["server/discover"] = result(`"supportedVersions":["` + version + `"],` + about + cache +
			`,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"upstream","version":"1"}}`)
	} else {
		u.initialized = about
		u.results["ping"] = result("")
	}
	u.results["tools/list"] = result(listed)
	u.results["tools/call"] = result(`"content":[{"type":"text","text":` + string(text) + `}]`)
	u.napped = result(`"content":[{"type":"text","text":"rested"}]`)
	u.refused = []byte(`,"error":{"code":-32601,"message":"Method not found"}}`)
	return u
}

// answer returns what follows the id in the answer to a message. Nil is none.
func (u *upstream) answer(msg []byte) []byte {
	method := member(msg, `"method":"`, `"`)
	if string(method) == "initialize" && u.initialized != "" { // in whatever version the client asks for
		return []byte(`,"result":{"protocolVersion":"` + string(member(msg, `"protocolVersion":"`, `"`)) + `",` + u.initialized + `}}`)
	}
	if r, ok := u.results[string(method)]; ok {
		return r
	}
	return u.refused
}

func (u *upstream) serveStdio() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil { // also for what is longer
			return
		}
		id := member(line, `"id":`, ",}")
		switch {
		case id == nil || bytes.Contains(line, []byte(`"method":"subscriptions/listen"`)): // which says nothing ever
		case bytes.Contains(line, []byte(`"name":"nap"`)):
			id := bytes.Clone(id)
			time.AfterFunc(u.nap, func() { u.write(id, u.napped, true) })
		case bytes.Contains(line, []byte(`"name":"die"`)):
			os.Exit(1)
		default:
			u.write(id, u.answer(line), false)
		}
		if in.Buffered() == 0 {
			u.flush()
		}
	}
}

func (u *upstream) flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.out.Flush()
}

// write writes an answer.
func (u *upstream) write(id, rest []byte, flush bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.out.WriteString(`{"jsonrpc":"2.0","id":`)
	u.out.Write(id)
	u.out.Write(rest)
	u.out.WriteByte('\n')
	if flush {
		u.out.Flush()
	}
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	msg, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	id := member(msg, `"id":`, ",}")
	rest := u.answer(msg)
	switch {
	case id == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case bytes.Contains(msg, []byte(`"method":"subscriptions/listen"`)):
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	case bytes.Contains(msg, []byte(`"name":"nap"`)):
		time.Sleep(u.nap)
		rest = u.napped
	}
	head := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(rest)))
	w.Write(head)
	w.Write(rest)
}

// member returns what is between a key and one of the characters after it, or nil.
func member(msg []byte, key, end string) []byte {
	_, rest, ok := bytes.Cut(msg, []byte(key))
	if !ok {
		return nil
	}
	i := bytes.IndexAny(rest, end)
	if i < 0 {
		return nil
	}
	return rest[:i]
}

// verbs are what the ordinary tools do.
var verbs = strings.Fields("create get list update delete search export import archive restore share approve reject assign rename " +
	"copy move merge split validate send schedule cancel tag summarize")

// offer returns the entries of the list of tools. An ordinary tool is as long as those of
// servers are.
func offer(ordinary int, subject string) string {
	entry := func(name, description, properties string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s}},"annotations":{"readOnlyHint":true}}`, name, description, properties)
	}
	all := []string{
		entry("echo", "Echoes a message.", `"message":{"type":"string"}`), entry("nap", "Sleeps.", ""), entry("die", "Ends the server.", ""),
	}
	if ordinary > 0 {
		all = nil // as many as are wanted, and echo
	}
	for i := range ordinary {
		if i == 0 {
			all = append(all, entry("echo", "Echoes a message.", `"message":{"type":"string"}`))
			continue
		}
		verb := verbs[i%len(verbs)]
		name := verb + "_" + subject
		if n := i / len(verbs); n > 0 {
			name += "_" + strconv.Itoa(n)
		}
		all = append(all, entry(name, "Use this to "+verb+" one "+subject+" or several, by their identifiers, as the account of the caller may.",
			`"`+subject+`_id":{"type":"string","description":"Identifier of the `+subject+`."},`+
				`"limit":{"type":"integer","description":"Maximum number to return.","default":100,"minimum":1,"maximum":10000},`+
				`"all":{"type":"boolean","description":"Whether archived ones count as well.","default":false}`))
	}
	return strings.Join(all, ",")
}
