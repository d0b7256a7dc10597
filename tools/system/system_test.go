package system_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/system"
)

func tools(t testing.TB, workingDirectory string, s declare.Settings) map[string]domain.Tool {
	t.Helper()
	list := tooltest.Tools(t, system.Family(), from(t, workingDirectory, s))
	byName := map[string]domain.Tool{}
	for _, tool := range list {
		byName[tool.Name] = tool
	}
	return byName
}

// decode reads structured content.
func decode[T any](t *testing.T, res domain.ToolResult) (v T) {
	t.Helper()
	structured, err := json.Marshal(res.Structured())
	if err == nil {
		err = json.Unmarshal(structured, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// from returns what the tools are made from.
func from(t testing.TB, workingDirectory string, s declare.Settings) declare.From[struct{}] {
	t.Helper()
	box := tooltest.Sandbox(t, sandbox.Policy{WorkingDirectory: workingDirectory}, system.Family().Declared())
	return declare.From[struct{}]{Sandbox: box, Settings: s}
}

func TestTools(t *testing.T) {
	list := tooltest.Tools(t, system.Family(), from(t, "", nil))
	if len(list) != 3 {
		t.Errorf("%d tools; want 3", len(list))
	}
}

func TestArguments(t *testing.T) {
	for _, tool := range tools(t, "", nil) {
		tooltest.Run(t, tool, []tooltest.Case{
			{Name: tool.Name, Args: `{}`},
			{Name: tool.Name + " without arguments"},
			{Name: tool.Name + " with an argument", Args: `{"verbose":true}`, Code: domain.CodeInvalidParams, Want: "verbose"},
		})
	}
}

func TestSystemInfo(t *testing.T) {
	res := tooltest.Call(t, tools(t, "/srv/data", nil)["system_info"], `{}`)
	info := decode[map[string]any](t, res)
	if structured, err := json.Marshal(res.Structured()); err != nil || string(structured) != tooltest.Text(res) {
		t.Errorf("structured content is %s, %v; the text is %s", structured, err, tooltest.Text(res))
	}
	for _, key := range []string{"platform", "system", "machine", "processor", "user", "go_version", "runtime_version"} {
		if s, _ := info[key].(string); s == "" {
			t.Errorf("%s is empty", key)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"cwd": "/srv/data", "hostname": host, "cpu_count": float64(runtime.NumCPU()), "go_version": runtime.Version(),
	} {
		if info[key] != want {
			t.Errorf("%s is %v; want %v", key, info[key], want)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Skip("no /proc")
	}
	if info["release"] != strings.TrimSpace(string(release)) || info["system"] != "Linux" {
		t.Errorf("release %v of %v; want %s of Linux", info["release"], info["system"], release)
	}
	memory, _ := info["memory"].(map[string]any)
	total, _ := memory["total_bytes"].(float64)
	available, _ := memory["available_bytes"].(float64)
	if used, ok := memory["used_percent"].(float64); !ok || total < available || available <= 0 || used < 0 || used > 100 {
		t.Errorf("memory is %v", memory)
	}
	if uptime, _ := info["uptime_seconds"].(float64); uptime <= 0 {
		t.Errorf("uptime is %v, %v", info["uptime_seconds"], info["uptime"])
	}
}

func TestDiskInfo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("looks for /")
	}
	res := tooltest.Call(t, tools(t, "", nil)["disk_info"], `{}`)
	info := decode[struct {
		Total  int
		Drives []struct {
			Device, Mountpoint, Filesystem string
			Total                          uint64  `json:"total_bytes"`
			Free                           uint64  `json:"free_bytes"`
			Used                           float64 `json:"used_percent"`
			Note                           string
		}
	}](t, res)
	if len(info.Drives) == 0 || info.Drives[0].Mountpoint != "/" || info.Total < len(info.Drives) {
		t.Fatalf("drives are %+v; want / first", info)
	}
	lines := strings.Split(tooltest.Text(res), "\n")
	var devices []string
	for i, d := range info.Drives {
		if !strings.HasPrefix(lines[i], brief.OneLine(d.Mountpoint)+", device "+d.Device) {
			t.Errorf("drive %+v is %q in the text", d, lines[i])
		}
		if slices.Contains(devices, d.Device) {
			t.Errorf("%s is listed twice", d.Device)
		}
		devices = append(devices, d.Device)
		if d.Filesystem == "" || d.Note == "" && d.Free > d.Total || d.Used < 0 || d.Used > 100 {
			t.Errorf("drive %+v", d)
		}
	}
}

// interfacesUp returns the names of the interfaces that are up, sorted.
func interfacesUp(t *testing.T) (names []string) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 {
			names = append(names, i.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestNetworkInfo(t *testing.T) {
	before := interfacesUp(t)
	res := tooltest.Call(t, tools(t, "", nil)["network_info"], `{}`)
	info := decode[struct {
		Interfaces []struct {
			Name       string
			Up         bool
			IPv4, IPv6 []string
		}
		Total int
	}](t, res)
	lines := strings.Split(tooltest.Text(res), "\n")
	after := interfacesUp(t)
	var names []string
	for n, i := range info.Interfaces {
		names = append(names, i.Name)
		if !strings.HasPrefix(lines[n], i.Name+", ") || !strings.Contains(lines[n], strings.Join(i.IPv4, " ")) || !strings.Contains(lines[n], strings.Join(i.IPv6, " ")) {
			t.Errorf("interface %+v is %q in the text", i, lines[n])
		}
		if !i.Up || i.IPv4 == nil || i.IPv6 == nil {
			t.Errorf("interface %+v", i)
		}
		for _, a := range slices.Concat(i.IPv4, i.IPv6) {
			ip, _, err := net.ParseCIDR(a)
			if err != nil || (ip.To4() != nil) != slices.Contains(i.IPv4, a) {
				t.Errorf("%s: address %q: %v", i.Name, a, err)
			}
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %q", names)
	}
	if len(names) == info.Total && slices.Equal(before, after) && !slices.Equal(names, before) {
		t.Errorf("listed %q; up are %q", names, before)
	}
}

// TestMask checks that a masked field is neither told nor promised, and that
// the rest still satisfies the schema, to which each call is held.
func TestMask(t *testing.T) {
	fields := []string{"hostname", "user", "used_percent", "mac", "ipv4", "device", "cwd", "memory"}
	for name, tool := range tools(t, "/srv", masking(fields...)) {
		res := tooltest.Call(t, tool, `{}`)
		text := tooltest.Text(res) + string(decode[json.RawMessage](t, res))
		schema, err := json.Marshal(tool.Output)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			if strings.Contains(text, `"`+field+`"`) || strings.Contains(text, "MAC ") || strings.Contains(text, "IPv4 ") || strings.Contains(text, "device ") || strings.Contains(string(schema), `"`+field+`"`) {
				t.Errorf("%s: %s is in the result or the schema:\n%s\n%s", name, field, text, schema)
			}
		}
		for key, kept := range map[string]string{"system_info": "platform", "disk_info": "mountpoint", "network_info": "ipv6"} {
			if key == name && !strings.Contains(string(schema), `"`+kept+`"`) {
				t.Errorf("%s: %s is gone too:\n%s", name, kept, schema)
			}
		}
	}
}

func TestMaskUnknown(t *testing.T) {
	for mask, want := range map[string]string{
		"hostnam": `no system tool has a field "hostnam"; did you mean hostname?`,
		"":        `no system tool has a field ""; they have available_bytes, cpu_count, cwd, device`,
		"serial":  "they have",
		"type ":   "did you mean type?",
	} {
		if _, err := system.Family().Offer(from(t, "", masking("user", mask))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mask %q: %v; want %q", mask, err, want)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tool := range tools(t, "", masking("mac")) {
		if _, err := tool.Run(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want that it was canceled", name, err)
		}
	}
}

func BenchmarkSystemInfo(b *testing.B) {
	tool := tools(b, "", nil)["system_info"]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Run(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// masking are settings of which one tool masks some fields, and another the rest.
func masking(fields ...string) declare.Settings {
	return declare.Settings{"system_info": &system.Settings{Mask: fields[:1]}, "network_info": &system.Settings{Mask: fields[1:]}}
}
