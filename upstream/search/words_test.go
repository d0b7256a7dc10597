package search

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"create_issue":        "create issue",
		"slack-post-message":  "slack post message",
		"getJiraIssue":        "getjiraissue get jira issue",
		"GitHub":              "github git hub",
		"parseJSONFile":       "parsejsonfile parse json file",
		"IDs of S3, k8s, ec2": "ids of s3 k8s ec2",
		"Größe löschen":       "grosse loschen",
		"élève, Ångström":     "eleve angstrom",
		"Slackにメッセージ":         "slack にメッセージ",
		"ファイルを読む":             "ファイルを読む",
		"файл/папка":          "файл папка",
		"":                    "",
		"?!":                  "",
	} {
		var got []string
		for _, w := range words(text) {
			got = append(got, w.plain)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("words of %q are %q, want %q", text, got, want)
		}
	}
}

func TestStem(t *testing.T) {
	for _, family := range []string{
		"create creates created creating creation",
		"delete deletes deleted deleting deletion",
		"list lists listed listing",
		"branch branches branching",
		"query queries querying queried",
		"message messages messaging",
		"plan plans planned planning",
		"commit commits committed committing",
		"deploy deploys deployed deploying",
		"share shares shared sharing",
		"box boxes",
		"status statuses",
		"process processes processed",
		"index indexes indexed",
		"move moves moved moving",
	} {
		list := strings.Fields(family)
		for _, w := range list[1:] {
			if stem(w) != stem(list[0]) {
				t.Errorf("stem of %s is %s, and of %s %s", list[0], stem(list[0]), w, stem(w))
			}
		}
	}
	apart := strings.Fields("organ organization new news class string need red status state file fill page pager user use bus table tab set")
	for i, a := range apart {
		for _, b := range apart[i+1:] {
			if stem(a) == stem(b) {
				t.Errorf("%s and %s have the stem %s", a, b, stem(a))
			}
		}
	}
}

func TestSchemaTexts(t *testing.T) {
	got := schemaTexts([]byte(`{"description":"of the whole","properties":{"a":{"description":"first","enum":["x",1,null,"y"]},
		"list":{"items":{"properties":{"inner":{"const":"z"}}}},"choice":{"anyOf":[{"title":"second"},{"oneOf":[{"properties":{"deep":{}}}]}]}},
		"$defs":{"unnamed":{"allOf":[{"properties":{"b":{}}}]}},"if":{"properties":{"a":{"const":"w"}}},"then":{"required":["b"]}}`))
	if want := []string{"a", "list", "inner", "choice", "deep", "b", "a"}; !slices.Equal(got.names, want) {
		t.Errorf("names %q, want %q", got.names, want)
	}
	if want := []string{"first", "second"}; !slices.Equal(got.descriptions, want) {
		t.Errorf("descriptions %q, want %q", got.descriptions, want)
	}
	if want := []string{"x", "y", "z", "w"}; !slices.Equal(got.values, want) {
		t.Errorf("values %q, want %q", got.values, want)
	}
}

func TestTable(t *testing.T) {
	x := table()
	for _, action := range reading {
		if !slices.Contains(x.named[action[1:]], action) {
			t.Errorf("%s is no action of the table", action)
		}
	}
	if got := x.split("创建日历事件"); !slices.Equal(got, []string{"创建", "日历", "事件"}) && !slices.Equal(got, []string{"创建", "日历事件"}) {
		t.Errorf("split into %q", got)
	}
	if key, n := x.phrase([]string{"open", "pull", "request", "now"}, 1); key != "pull request" || n != 2 {
		t.Errorf("phrase %q of %d words", key, n)
	}
}
