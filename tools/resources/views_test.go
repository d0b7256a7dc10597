package resources_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/resources"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// TestViews reads the views, as those may who may use their tools: none is listed, and each is small and needs nothing but itself.
func TestViews(t *testing.T) {
	b, box := newBench(t, nil), tooltest.Sandbox(t, sandbox.Policy{}, files.Family().Declared())
	offer := func(views bool) {
		o, err := resources.Family(resources.Server{}).Offer(declare.From[resources.Options]{Sandbox: box, Config: resources.Options{Views: views}})
		if err != nil {
			t.Fatal(err)
		}
		b.exec.Registry.Register(domain.FixedSource("resources", o, nil))
	}
	found := func(uri string) *domain.Resource {
		r, _, err := b.exec.Registry.Catalog().FindResource(domain.Principal{}, uri)
		if (err == nil) != (r != nil) {
			t.Fatal(r, err)
		}
		return r
	}
	const diff = domain.ViewBase + "diff"
	if found(diff) != nil {
		t.Error("views are there although they are off")
	}
	offer(true)
	for _, r := range []string{"usage", "jobs", "calendar"} { // whose tools are not there
		if found(domain.ViewBase+r) != nil {
			t.Errorf("the view %s is offered without its tool", r)
		}
	}
	for name, o := range map[string]domain.Override{"the tool is disabled": {Enabled: new(false)}, "the tool is for others": {Groups: []string{"staff"}}} {
		b.exec.Registry.Configure(domain.Settings{Tools: map[string]domain.Override{"edit_file": o}})
		if found(diff) != nil {
			t.Errorf("%s, and its view is offered", name)
		}
	}
	b.exec.Registry.Configure(domain.Settings{Tools: map[string]domain.Override{"edit_file": {Rename: "change_file"}}})
	if found(diff) == nil {
		t.Error("the tool has another name, and no view")
	}
	if page, _, err := b.exec.Registry.Catalog().ListResources(domain.Principal{}, false, ""); err != nil || slices.ContainsFunc(page, func(r *domain.Resource) bool { return strings.HasPrefix(r.URI, "ui:") }) {
		t.Errorf("listed: %v, %v", page, err)
	}

	outside := regexp.MustCompile(`(?i)innerHTML|insertAdjacent|document\.write|\beval\b|Function\(|@import|url\(|src=|href=|fetch\(|XMLHttp|https?://[^w]`)
	all := resources.Views()
	if len(all) != 4 {
		t.Errorf("%d views", len(all))
	}
	for _, r := range all {
		content, err := r.Read(context.Background(), domain.Location{URI: r.URI})
		if err != nil || len(content) != 1 {
			t.Fatal(err, content)
		}
		text, err := rawjson.String(rawjson.Member(content[0].Raw, "text"))
		if err != nil || text != content[0].Text || len(text) > 8000 || !strings.HasPrefix(text, "<!doctype html>\n") {
			t.Errorf("%s has %d bytes: %v", r.URI, len(text), err)
		}
		if found := outside.FindAllString(text, -1); found != nil {
			t.Errorf("%s has %q", r.URI, found)
		}
		for name, want := range map[string]string{"uri": `"` + r.URI + `"`, "mimeType": `"text/html;profile=mcp-app"`, "_meta": `{"ui":{"prefersBorder":true}}`} {
			if got := string(rawjson.Member(content[0].Raw, name)); got != want {
				t.Errorf("%s: %s is %s", r.URI, name, got)
			}
		}
	}
}
