package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// routes adds all pages, and what can be done on them.
func (c *Console) routes() {
	c.handle("GET /{$}", (*visit).now)
	c.handle("GET /events", (*visit).events)
	c.handle("POST /cancel", (*visit).cancel)
	c.handle("GET /approvals", (*visit).approvals)
	c.handle("POST /approvals/{id}", (*visit).decide)
	c.handle("GET /call/{id}", (*visit).call)
	c.handle("GET /policy", (*visit).policy)
	c.handle("GET /upstreams", (*visit).upstreams)
	c.handle("POST /upstreams/approve", (*visit).approvePins)
	c.handle("POST /upstreams/sign-in", (*visit).signInTo)
	c.handle("GET /people", func(v *visit) { v.people(madeToken{}) })
	c.handle("POST /people/{do}", (*visit).changePeople)
	c.handle("GET /usage", (*visit).usage)
	c.handle("GET /audit", (*visit).audit)
	c.handle("GET /clients", (*visit).clients)
	c.handle("POST /clients/install", (*visit).install)
	c.handle("POST /sign-out", func(v *visit) {
		if err := v.door.signOut(); err != nil {
			v.fail(http.StatusInternalServerError, err)
			return
		}
		v.note()
		http.SetCookie(v.w, v.door.cookie(cookieName, "", -1))
		v.who = ""
		v.show("Signed out", p("All browsers are signed out of this console."))
	})
	c.handle("/", func(v *visit) { v.fail(http.StatusNotFound, errors.New("there is no such page")) })
}

// run decodes what a command prints. What it printed before it failed counts, and the error is said at the top of the page.
func (v *visit) run(into any, args ...string) error {
	ctx, cancel := context.WithTimeout(v.r.Context(), runTime)
	defer cancel()
	out, err := v.Run(ctx, args...)
	if len(bytes.TrimSpace(out)) > 0 {
		if wrong := json.Unmarshal(out, into); wrong != nil && err == nil {
			err = fmt.Errorf("what %s prints cannot be read: %w", args[0], wrong)
		}
	}
	if err != nil {
		v.problem = err.Error()
	}
	return err
}

// flags returns those fields of the form of a page that are filled, as flags of a command.
func flags(v *visit, names ...string) (flags []string) {
	for _, name := range names {
		if value := v.r.FormValue(name); value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	return flags
}

// clip cuts a text after a number of runes.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func milliseconds(n float64) string {
	switch d := time.Duration(n * float64(time.Millisecond)); {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(n, 'f', 1, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(n, 'f', 0, 64) + " ms"
	default:
		return d.Round(time.Second).String()
	}
}

// at returns a time as people here write it.
func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
