package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
	"golang.org/x/sync/singleflight"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
)

// diskInfo is the result of disk_info.
type diskInfo struct {
	Drives     []drive `json:"drives"`
	Total      int     `json:"total"`
	NextOffset int     `json:"next_offset,omitempty"`
}

type drive struct {
	Device      string   `json:"device"`
	Mountpoint  string   `json:"mountpoint"`
	Label       string   `json:"label,omitempty"`
	Filesystem  string   `json:"filesystem"`
	TotalBytes  *uint64  `json:"total_bytes,omitempty"`
	FreeBytes   *uint64  `json:"free_bytes,omitempty"`
	UsedPercent *float64 `json:"used_percent,omitempty"`
	Note        string   `json:"note,omitempty"` // why the sizes are missing
}

// Bounds of disk_info.
const (
	maxDrives = 64 // in one result
	// answerTime is how long all drives together have to report their sizes. A
	// network drive whose server is gone never does.
	answerTime = 2 * time.Second
)

func disksTool(m machine, r *driveReader) domain.Tool {
	return defineList(m, domain.Tool{
		Name: disksName, Title: "Disk information", Ability: "list drives and their free space",
		Description: "List mounted drives with size, space free for ordinary users, and file system.",
		Output:      schema.OutputOf[diskInfo](),
	}, "no drives", r.read, func(shown []drive, total, next int) diskInfo { return diskInfo{shown, total, next} })
}

func (d diskInfo) lines() (all []string) {
	for _, d := range d.Drives {
		var l line
		l.add("%s", d.Mountpoint)
		l.add("device %s", d.Device)
		l.add("label %s", d.Label)
		l.add("file system %s", d.Filesystem)
		if d.TotalBytes != nil {
			l.add("%s bytes", brief.Thousands(int64(*d.TotalBytes)))
		}
		if d.FreeBytes != nil {
			l.add("%s free", brief.Thousands(int64(*d.FreeBytes)))
		}
		if d.UsedPercent != nil {
			l.add("%s%% used", strconv.FormatFloat(*d.UsedPercent, 'f', -1, 64))
		}
		l.add("%s", d.Note)
		all = append(all, l.String())
	}
	return all
}

// driveReader reads what is mounted.
type driveReader struct {
	list   func() ([]mount, error)
	labels func() map[string]string // by device
	usage  func(mountpoint string) (*disk.UsageStat, error)

	// Queries may never return and cannot be canceled, such as statfs(2) of a
	// dead network drive. Each has one goroutine, however many callers.
	lists, usages singleflight.Group
}

// read returns the drives from an offset on, and how many there are.
func (r *driveReader) read(ctx context.Context, offset int) ([]drive, int, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	mounts, err := wait[[]mount](ctx, r.lists.DoChan("", func() (any, error) { return r.list() }))
	if err != nil {
		return nil, 0, fmt.Errorf("listing drives: %w", err)
	}
	mounts = realDrives(mounts)
	page := call.ListFrom(mounts, offset).Entries
	page = page[:min(maxDrives, len(page))]
	asked := make([]<-chan singleflight.Result, len(page))
	for i, m := range page {
		asked[i] = r.usages.DoChan(m.point, func() (any, error) { return r.usage(m.point) })
	}
	labels, drives := r.labels(), make([]drive, len(page))
	for i, m := range page {
		usage, err := wait[*disk.UsageStat](ctx, asked[i])
		drives[i] = describeDrive(m, labels, usage, err)
	}
	return drives, len(mounts), nil
}

// wait returns the result of a query, or ctx's error if that ends first. A
// result that is there counts even then.
func wait[T any](ctx context.Context, result <-chan singleflight.Result) (v T, err error) {
	var r singleflight.Result
	select {
	case r = <-result:
	case <-ctx.Done():
		select {
		case r = <-result:
		default:
			return v, ctx.Err()
		}
	}
	v, _ = r.Val.(T)
	return v, r.Err
}

func describeDrive(m mount, labels map[string]string, usage *disk.UsageStat, err error) drive {
	d := drive{Device: m.device, Mountpoint: m.point, Filesystem: m.filesystem, Label: labels[m.device]}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.Note = fmt.Sprintf("it did not answer within %v; it may be a network drive whose server is gone", answerTime)
	case err != nil:
		d.Note = "its size cannot be read: " + err.Error()
	default:
		used := percent(usage.Used, usage.Used+usage.Free)
		d.TotalBytes, d.FreeBytes, d.UsedPercent = &usage.Total, &usage.Free, &used
	}
	return d
}

// byLabel is where udev(7) keeps a link to the device of each label.
const byLabel = "/dev/disk/by-label"

// driveLabels returns the labels of file systems by device. There are none
// where udev does not run, as in containers and on other systems than Linux:
// asking the drive itself may block.
func driveLabels() map[string]string {
	entries, err := os.ReadDir(byLabel)
	if err != nil {
		return nil
	}
	labels := map[string]string{}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(byLabel, e.Name()))
		if err == nil {
			labels["/dev/"+filepath.Base(target)] = unescape(e.Name())
		}
	}
	return labels
}

// unescape undoes the escapes of a name: \x20 as of udev(7), \040 as of
// proc_pid_mountinfo(5).
func unescape(name string) string {
	return regexp.MustCompile(`\\(x[0-9a-fA-F]{2}|[0-3][0-7]{2})`).ReplaceAllStringFunc(name, func(escape string) string {
		c, _ := strconv.ParseUint("0"+escape[1:], 0, 8)
		return string([]byte{byte(c)})
	})
}
