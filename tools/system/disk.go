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
)

// diskInfo is the result of disk_info.
type diskInfo struct {
	Drives []drive `json:"drives"`
	Note   string  `json:"note,omitempty" doc:"What was omitted, and why."`
}

type drive struct {
	Device      string   `json:"device"`
	Mountpoint  string   `json:"mountpoint"`
	Label       string   `json:"label,omitempty"`
	Filesystem  string   `json:"filesystem"`
	TotalBytes  *uint64  `json:"total_bytes,omitempty"`
	FreeBytes   *uint64  `json:"free_bytes,omitempty" doc:"Available to ordinary users."`
	UsedPercent *float64 `json:"used_percent,omitempty"`
	Note        string   `json:"note,omitempty" doc:"What was omitted, and why."`
}

// Bounds of disk_info.
const (
	maxDrives = 64
	// answerTime is how long all drives together have to report their sizes. A
	// network drive whose server is gone never does.
	answerTime = 2 * time.Second
)

// driveReader reads what is mounted.
type driveReader struct {
	list   func() ([]mount, error)
	labels func() map[string]string // by device
	usage  func(mountpoint string) (*disk.UsageStat, error)

	// Queries may never return and cannot be canceled, such as statfs(2) of a
	// dead network drive. Each has one goroutine, however many callers.
	lists, usages singleflight.Group
}

func newDriveReader() *driveReader {
	return &driveReader{list: listMounts, labels: driveLabels, usage: disk.Usage}
}

func (r *driveReader) read(ctx context.Context) (diskInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	mounts, err := wait[[]mount](ctx, r.lists.DoChan("", func() (any, error) { return r.list() }))
	if err != nil {
		return diskInfo{}, fmt.Errorf("listing drives: %w", err)
	}
	mounts = realDrives(mounts)
	info := diskInfo{Drives: []drive{}}
	if len(mounts) > maxDrives {
		info.Note = fmt.Sprintf("The first %d of %d drives.", maxDrives, len(mounts))
		mounts = mounts[:maxDrives]
	}
	asked := make([]<-chan singleflight.Result, len(mounts))
	for i, m := range mounts {
		asked[i] = r.usages.DoChan(m.point, func() (any, error) { return r.usage(m.point) })
	}
	labels := r.labels()
	for i, m := range mounts {
		usage, err := wait[*disk.UsageStat](ctx, asked[i])
		info.Drives = append(info.Drives, describeDrive(m, labels, usage, err))
	}
	return info, nil
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
		d.Note = fmt.Sprintf("It did not answer within %v; it may be a network drive whose server is gone.", answerTime)
	case err != nil:
		d.Note = "Its size cannot be read: " + err.Error() + "."
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
