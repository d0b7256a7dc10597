package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const (
	listChanged    = "notifications/tools/list_changed"
	subscriptionID = "io.modelcontextprotocol/subscriptionId"
	withoutEcho    = "tools: {echo: {enabled: false}}\n"
)

// TestStdioListen checks that a modern client that listens hears of a change of
// the configuration, under the id of its request, until the end.
func TestStdioListen(t *testing.T) {
	listen := func(id string) string {
		return modern(request(id, "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`))
	}
	for _, id := range []string{"1", "9007199254740993", `"sub"`, `"é\u0061"`} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			config, _ := configured(t, "")
			w := open(t, binary(), "--config", config)
			w.send(listen(id))
			if r := w.receive(); r.Method != "notifications/subscriptions/acknowledged" || string(r.Params.Meta[subscriptionID]) != id ||
				!strings.Contains(string(r.Raw), `"notifications":{"toolsListChanged":true}`) {
				t.Errorf("got %s", r.Raw)
			}
			for _, text := range []string{withoutEcho, "", withoutEcho} {
				reconfigure(t, config, text)
				if r := w.receive(); r.Method != listChanged || string(r.Params.Meta[subscriptionID]) != id {
					t.Errorf("got %s", r.Raw)
				}
				w.send(modern(request(`"list"`, "tools/list", `{"x":1}`)))
				if r := w.answer(`"list"`); strings.Contains(string(r.Result), `"name":"echo"`) != (text == "") {
					t.Errorf("with the configuration %q: %.300s", text, r.Raw)
				}
			}
			w.in.Close()
			all := append(w.before, w.rest()...)
			if len(all) != 1 || string(all[0].ID) != id || !strings.Contains(string(all[0].Result), fmt.Sprintf(`"%s":%s`, subscriptionID, id)) {
				t.Errorf("at the end: %s", all)
			}
			w.end()
		})
	}
	t.Run("taken back", func(t *testing.T) {
		t.Parallel()
		config, _ := configured(t, "")
		w := open(t, binary(), "--config", config)
		w.send(listen("1"))
		w.send(listen("2"))
		w.receive()
		w.receive()
		w.send(cancel("1"))
		w.send(modern(request("3", "server/discover", `{"x":1}`))) // is served after that
		w.answer("3")
		reconfigure(t, config, withoutEcho)
		if r := w.receive(); r.Method != listChanged || string(r.Params.Meta[subscriptionID]) != "2" {
			t.Errorf("got %s", r.Raw)
		}
		w.in.Close()
		if all := append(w.before, w.rest()...); len(all) != 1 || string(all[0].ID) != "2" {
			t.Errorf("at the end: %s", all)
		}
	})
}

// TestStdioListChanged checks that a legacy client hears of a change of the
// configuration without having asked, and no other client does.
func TestStdioListChanged(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			config, _ := configured(t, "")
			w := open(t, binary(), "--config", config)
			w.handshake(version)
			for _, text := range []string{withoutEcho, ""} {
				reconfigure(t, config, text)
				if r := w.receive(); r.Method != listChanged || len(r.Params.Meta) > 0 {
					t.Errorf("got %s", r.Raw)
				}
				w.send(request(`"list"`, "tools/list", "{}"))
				if r := w.answer(`"list"`); strings.Contains(string(r.Result), `"name":"echo"`) != (text == "") {
					t.Errorf("with the configuration %q: %.300s", text, r.Raw)
				}
			}
			w.in.Close()
			for _, r := range append(w.before, w.rest()...) {
				t.Errorf("got %s", r.Raw)
			}
		})
	}
	t.Run("modern and not listening", func(t *testing.T) {
		t.Parallel()
		config, _ := configured(t, "")
		w := open(t, binary(), "--config", config)
		list := modern(request(`"list"`, "tools/list", `{"x":1}`))
		w.send(list)
		w.answer(`"list"`)
		reconfigure(t, config, withoutEcho)
		eventually(t, "the change is in force", func() bool {
			w.send(list)
			return !strings.Contains(string(w.answer(`"list"`).Result), `"name":"echo"`)
		})
		w.in.Close()
		for _, r := range append(w.before, w.rest()...) {
			t.Errorf("got %s", r.Raw)
		}
	})
}
