package system

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

// systemInfo is the result of system_info. What the operating system does not
// report is empty, or absent where it is optional.
type systemInfo struct {
	Platform       string  `json:"platform"`
	System         string  `json:"system"`
	Release        string  `json:"release"`
	Version        string  `json:"version" doc:"Kernel build."`
	Machine        string  `json:"machine"`
	Processor      string  `json:"processor"`
	CPUCount       int     `json:"cpu_count" doc:"Logical processors the server may use."`
	Memory         *memory `json:"memory,omitempty"`
	UptimeSeconds  int64   `json:"uptime_seconds,omitempty"`
	Uptime         string  `json:"uptime,omitempty"`
	Hostname       string  `json:"hostname"`
	CWD            string  `json:"cwd"`
	User           string  `json:"user"`
	GoVersion      string  `json:"go_version"`
	RuntimeVersion string  `json:"runtime_version"`
}

type memory struct {
	TotalBytes     uint64  `json:"total_bytes"`
	AvailableBytes uint64  `json:"available_bytes"`
	UsedPercent    float64 `json:"used_percent"`
}

// platform is what each operating system reports in a way of its own.
type platform struct {
	name      string
	release   string
	version   string
	machine   string
	processor string
	uptime    time.Duration // 0 if it is not known
}

func infoTool(m machine) domain.Tool {
	return define(m, domain.Tool{
		Name: infoName, Title: "System information", Ability: "tell about the machine and its operating system",
		Description: "Describe the machine: operating system, processor, memory, uptime, host name, working directory and user.",
		Output:      schema.OutputOf[systemInfo](),
	}, func(ctx context.Context, _ struct{}) (domain.ToolResult, error) {
		return domain.JSON(m.hide(readInfo(ctx, m.workingDirectory)))
	})
}

func readInfo(ctx context.Context, workingDirectory string) systemInfo {
	p := readPlatform()
	host, _ := os.Hostname() // empty if it is not known
	info := systemInfo{
		Platform: p.name, System: systemName(runtime.GOOS), Release: p.release, Version: p.version,
		Machine: p.machine, Processor: p.processor, CPUCount: runtime.NumCPU(), Memory: readMemory(ctx),
		Hostname: host, CWD: workingDirectory, User: userName(),
		GoVersion:      runtime.Version(),
		RuntimeVersion: fmt.Sprintf("%s %s %s/%s", runtime.Version(), runtime.Compiler, runtime.GOOS, runtime.GOARCH),
	}
	if p.uptime > 0 {
		info.UptimeSeconds, info.Uptime = int64(p.uptime/time.Second), days(p.uptime)
	}
	return info
}

func readMemory(ctx context.Context) *memory {
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil || m.Total == 0 || m.Available > m.Total {
		return nil
	}
	return &memory{m.Total, m.Available, percent(m.Total-m.Available, m.Total)}
}

// percent returns the share that part has of whole, to one decimal.
func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(float64(part)/float64(whole)*1000) / 10
}

// systemName returns the name of the system as uname -s prints it, on Windows too.
func systemName(goos string) string {
	switch goos {
	case "linux", "darwin", "windows":
		return strings.ToUpper(goos[:1]) + goos[1:]
	}
	return goos
}

// userName returns the user's name, or the number of a user without one, as
// they occur in containers.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

func days(d time.Duration) string {
	minutes := int64(d / time.Minute)
	return fmt.Sprintf("%dd %dh %dm", minutes/(24*60), minutes/60%24, minutes%60)
}
