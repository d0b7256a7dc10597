package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
)

// diskInfo is the result of disk_info.
type diskInfo struct {
	Drives []drive `json:"drives" doc:"Drives, sorted by mount point."`
	Note   string  `json:"note,omitempty" doc:"What was left out, and why."`
}

type drive struct {
	Device      string   `json:"device" doc:"Device, or server and share."`
	Mountpoint  string   `json:"mountpoint" doc:"Where it is mounted."`
	Label       string   `json:"label,omitempty" doc:"Name given to the file system, where it has one."`
	Filesystem  string   `json:"filesystem" doc:"Kind of file system, such as ext4."`
	TotalBytes  *uint64  `json:"total_bytes,omitempty" doc:"Size of the file system."`
	FreeBytes   *uint64  `json:"free_bytes,omitempty" doc:"What ordinary users can still write."`
	UsedPercent *float64 `json:"used_percent,omitempty" doc:"Share in use of what ordinary users can have."`
	Note        string   `json:"note,omitempty" doc:"Why the sizes are missing."`
}

// Bounds of disk_info.
const (
	maxDrives = 64
	// answerTime is how long all drives together have to tell their sizes. A
	// network drive whose server is gone never does.
	answerTime = 2 * time.Second
)

// driveReader reads what is mounted.
type driveReader struct {
	list   func() ([]mount, error)
	labels func() map[string]string // by device
	usage  func(mountpoint string) (*disk.UsageStat, error)

	lists  flights[[]mount]
	usages flights[*disk.UsageStat]
}

func newDriveReader() *driveReader {
	return &driveReader{list: listMounts, labels: driveLabels, usage: disk.Usage}
}

func (r *driveReader) read(ctx context.Context) (diskInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	mounts, err := r.lists.join("", r.list).wait(ctx)
	if err != nil {
		return diskInfo{}, fmt.Errorf("listing drives: %w", err)
	}
	mounts = realDrives(mounts)
	info := diskInfo{Drives: []drive{}}
	if len(mounts) > maxDrives {
		info.Note = fmt.Sprintf("The first %d of %d drives.", maxDrives, len(mounts))
		mounts = mounts[:maxDrives]
	}
	asked := make([]*flight[*disk.UsageStat], len(mounts))
	for i, m := range mounts {
		asked[i] = r.usages.join(m.point, func() (*disk.UsageStat, error) { return r.usage(m.point) })
	}
	labels := r.labels()
	for i, m := range mounts {
		usage, err := asked[i].wait(ctx)
		info.Drives = append(info.Drives, describeDrive(m, labels, usage, err))
	}
	return info, nil
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
