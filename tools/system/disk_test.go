package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shirou/gopsutil/v4/disk"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

func TestRealDrives(t *testing.T) {
	for _, test := range []struct {
		name   string
		mounts []mount
		want   string // mount points
	}{
		{"pseudo", []mount{
			{"/dev/vda", "/", "ext4", false}, {"proc", "/proc", "proc", false}, {"tmpfs", "/run", "tmpfs", false},
			{"/secrets", "/run/secrets", "tmpfs", true}, {"cgroup2", "/sys/fs/cgroup", "cgroup2", false},
			{"/null", "/proc/kcore", "devtmpfs", true}, {"net:[4026532281]", "/run/netns/a", "nsfs", false},
			{"systemd-1", "/misc", "autofs", false}, {"/dev/loop3", "/snap/core/1", "squashfs", false},
			{"/dev/fuse", "/run/user/1/doc", "fuse.portal", false}, {"lxcfs", "/var/lib/lxcfs", "fuse.lxcfs", false},
		}, "/"},
		{"same device", []mount{
			{"/dev/sda1", "/a", "ext4", true}, {"/dev/sda1", "/mnt/disk", "ext4", false}, {"/dev/sda1", "/mnt/again", "ext4", false},
			{"/dev/sda1", "/b", "ext4", true},
		}, "/mnt/disk"},
		{"only bind mounts", []mount{{"/dev/sdb", "/var/lib/b", "xfs", true}, {"/dev/sdb", "/data", "xfs", true}}, "/data"},
		{"container", []mount{
			{"overlay", "/", "overlay", false}, {"/dev/vda1", "/etc/hosts", "ext4", true}, {"/dev/vda1", "/etc/resolv.conf", "ext4", true},
			{"overlay", "/var/lib/docker/overlay2/x/merged", "overlay", false},
		}, "/"},
		{"hidden", []mount{{"rootfs", "/", "rootfs", false}, {"/dev/vda", "/", "ext4", false}, {"/dev/sdc", "/mnt", "ext4", false}, {"tmpfs", "/mnt", "tmpfs", false}}, "/"},
		{"shares", []mount{
			{"nas:/export", "/nas", "nfs4", false}, {"//pc/share", "/pc", "cifs", false}, {"pool/home", "/home", "zfs", false},
			{"me@host:/", "/ssh", "fuse.sshfs", false}, {"hostshare", "/host", "virtiofs", false}, {"/dev/sdd1", "/stick", "fuseblk", false},
		}, "/home /host /nas /pc /ssh /stick"},
		{"none", nil, ""},
	} {
		for range 5 { // maps are walked in another order each time
			var got []string
			for _, m := range realDrives(test.mounts) {
				got = append(got, m.point)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s: %q; want %q", test.name, got, test.want)
			}
		}
	}
}

// diskOf returns a reader of mounts whose sizes come from usage.
func diskOf(usage func(string) (*disk.UsageStat, error), points ...string) *driveReader {
	var list []mount
	for _, p := range points {
		list = append(list, mount{device: "/dev" + p, point: p, filesystem: "ext4"})
	}
	return &driveReader{
		list: func() ([]mount, error) { return list, nil }, usage: usage,
		labels: func() map[string]string { return map[string]string{"/dev/ok": "Fine"} },
	}
}

// TestHungDrive has one drive never answer: it costs its sizes, a bounded time
// and one goroutine, however often it is asked.
func TestHungDrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var asked atomic.Int32
		r := diskOf(func(point string) (*disk.UsageStat, error) {
			switch point {
			case "/hung":
				asked.Add(1)
				<-release
			case "/shut":
				return nil, errors.New("permission denied")
			}
			return &disk.UsageStat{Total: 200, Free: 50, Used: 100}, nil
		}, "/ok", "/hung", "/shut")
		for range 3 {
			start := time.Now()
			drives, _, err := r.read(t.Context(), 0)
			if err != nil || len(drives) != 3 {
				t.Fatalf("%+v, %v", drives, err)
			}
			hung, ok, shut := drives[0], drives[1], drives[2]
			if time.Since(start) != answerTime || hung.TotalBytes != nil || !strings.Contains(hung.Note, "did not answer within 2s") {
				t.Errorf("after %v: %+v", time.Since(start), hung)
			}
			if ok.Note != "" || *ok.TotalBytes != 200 || *ok.FreeBytes != 50 || *ok.UsedPercent != 66.7 || ok.Label != "Fine" {
				t.Errorf("drive that answered: %+v", ok)
			}
			if shut.TotalBytes != nil || !strings.Contains(shut.Note, "permission denied") {
				t.Errorf("drive that refused: %+v", shut)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("the hung drive was asked %d times", asked.Load())
		}
		close(release)
		synctest.Wait()
		if drives, _, err := r.read(t.Context(), 0); err != nil || drives[0].TotalBytes == nil || drives[0].Note != "" {
			t.Errorf("once it answers again: %+v, %v", drives, err)
		}
	})
}

func TestHungList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := diskOf(nil)
		release := make(chan struct{})
		defer close(release)
		r.list = func() ([]mount, error) { <-release; return nil, nil }
		if _, _, err := r.read(t.Context(), 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v; want that time is up", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		if _, _, err := r.read(ctx, 0); !errors.Is(err, context.Canceled) || time.Since(start) != 0 {
			t.Errorf("%v after %v; want that it was canceled at once", err, time.Since(start))
		}
	})
}

// TestManyDrives reads a list of more drives than are asked at once, in pages.
func TestManyDrives(t *testing.T) {
	var points []string
	for i := range maxDrives + 5 {
		points = append(points, fmt.Sprintf("/%03d", i))
	}
	tool := disksTool(machine{}, diskOf(func(string) (*disk.UsageStat, error) { return &disk.UsageStat{Total: 1234, Used: 617, Free: 617}, nil }, points...))
	tooltest.Run(t, tool, []tooltest.Case{
		{Name: "first", Want: "\n/001, device /dev/001, file system ext4, 1,234 bytes, 617 free, 50% used\n",
			Wants: []string{"entries 1 to 64 of 69; there are more: call again with offset=64]"}},
		{Name: "last", Args: `{"offset":64}`, Check: func(t *testing.T, res domain.ToolResult) {
			var info diskInfo
			if err := json.Unmarshal(res.Results.(json.RawMessage), &info); err != nil {
				t.Fatal(err)
			}
			if text := tooltest.Text(res); len(info.Drives) != 5 || info.Total != 69 || info.NextOffset != 0 || strings.Count(text, "\n") != 4 || !strings.HasPrefix(text, "/064, ") {
				t.Errorf("%+v: %s", info, text)
			}
		}},
		{Name: "beyond", Args: `{"offset":70}`, Check: func(t *testing.T, res domain.ToolResult) {
			if text := res.Told()[0].Text; text != "[no drives at offset 70: there are 69]" {
				t.Error(text)
			}
		}},
		{Name: "wrong offset", Args: `{"offset":"x"}`, Code: domain.CodeInvalidParams, Want: "offset must be an integer"},
	})
}

// TestStrangeNames has a label that tries to pass for the next line.
func TestStrangeNames(t *testing.T) {
	r := diskOf(func(string) (*disk.UsageStat, error) { return nil, errors.New("no") }, "/ok")
	r.labels = func() map[string]string { return map[string]string{"/dev/ok": "a\n/b"} }
	want := `/ok, device /dev/ok, label "a\n/b", file system ext4, its size cannot be read: no`
	if text := tooltest.Text(tooltest.Call(t, disksTool(machine{}, r), "")); text != want {
		t.Errorf("%s", text)
	}
	masked := disksTool(machine{mask: mask{"label": true, "device": true}}, r)
	want = `/ok, file system ext4, its size cannot be read: no`
	if text := tooltest.Text(tooltest.Call(t, masked, "")); text != want {
		t.Errorf("masked: %s", text)
	}
}

func TestDays(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0d 0h 0m", 59 * time.Second: "0d 0h 0m", 90 * time.Minute: "0d 1h 30m", 400*24*time.Hour + 61*time.Minute: "400d 1h 1m",
	} {
		if got := days(d); got != want {
			t.Errorf("%v is %q; want %q", d, got, want)
		}
	}
}

func TestUnescape(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux escapes")
	}
	if got := unescape(`//nas/my\040share\134x`); got != `//nas/my share\x` {
		t.Errorf("got %q", got)
	}
}
