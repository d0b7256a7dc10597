//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// read prints what it finds of each file by every way there is.
func read(paths []string) {
	for _, path := range paths {
		for name, way := range readWays {
			b, err := way(path)
			report(name+" "+path, err)
			fmt.Printf("%s\n", b)
		}
	}
	for _, pattern := range []string{"/proc/*/environ", "/proc/*/cmdline", "/proc/*/fd/*", "/proc/*/root" + paths[0], "/proc/*/cwd/.env", "/proc/*/task/*/environ"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				b, _ := readFile(path)
				fmt.Printf("%s\n", b)
			}
		}
	}
}

var readWays = map[string]func(path string) ([]byte, error){
	"open": readFile,
	"mmap": func(path string) ([]byte, error) {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		return unix.Mmap(fd, 0, 64, unix.PROT_READ, unix.MAP_PRIVATE)
	},
	"path descriptor": func(path string) ([]byte, error) {
		fd, err := unix.Open(path, unix.O_PATH, 0)
		if err != nil {
			return nil, err
		}
		return readFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	},
	"root of itself":   func(path string) ([]byte, error) { return readFile("/proc/self/root" + path) },
	"root of another":  func(path string) ([]byte, error) { return readFile("/proc/1/root" + path) },
	"root of a parent": func(path string) ([]byte, error) { return readFile(fmt.Sprintf("/proc/%d/root%s", os.Getppid(), path)) },
	"link": func(path string) ([]byte, error) {
		name := fmt.Sprintf("probe-link-%d", os.Getpid())
		if err := os.Link(path, name); err != nil {
			return nil, err
		}
		return readFile(name)
	},
	"symbolic link": func(path string) ([]byte, error) {
		name := fmt.Sprintf("probe-symlink-%d", os.Getpid())
		defer os.Remove(name)
		if err := os.Symlink(path, name); err != nil {
			return nil, err
		}
		return readFile(name)
	},
	"renamed": func(path string) ([]byte, error) {
		name := fmt.Sprintf("probe-renamed-%d", os.Getpid())
		if err := os.Rename(path, name); err != nil {
			return nil, err
		}
		defer os.Rename(name, path) // or no other way would find it
		return readFile(name)
	},
	"directory renamed": func(path string) ([]byte, error) {
		name := fmt.Sprintf("probe-directory-%d", os.Getpid())
		if err := os.Rename(filepath.Dir(path), name); err != nil {
			return nil, err
		}
		defer os.Rename(name, filepath.Dir(path))
		return readFile(filepath.Join(name, filepath.Base(path)))
	},
	"other names": func(path string) ([]byte, error) {
		return readFile(strings.ReplaceAll(filepath.Dir(path), "/", "//") + "/./" + filepath.Base(path))
	},
	"unmounted": func(path string) ([]byte, error) {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			return nil, err
		}
		return readFile(path)
	},
	"handle": func(path string) ([]byte, error) {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
		if err != nil {
			return nil, err
		}
		dir, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, err
		}
		fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
		if err != nil {
			return nil, err
		}
		return readFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	},
	"tree of mounts": func(path string) ([]byte, error) {
		fd, err := unix.OpenTree(unix.AT_FDCWD, filepath.Dir(path), unix.OPEN_TREE_CLONE)
		if err != nil {
			return nil, err
		}
		return readFile(fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(path)))
	},
}

// readFile reads the beginning of a file without waiting for more.
func readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}
