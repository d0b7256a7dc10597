package telemetry

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
)

// Other stands for what a client has made up, and for what would be one too many.
const Other = "_other"

// measure makes the instruments of what the package itself observes.
func (t *Telemetry) measure() {
	method, kind := string(semconv.McpMethodNameKey), string(semconv.ErrorTypeKey)
	t.requests = t.Seconds(mcpconv.ServerOperationDuration{}.Name(), "Time that requests of clients took.",
		method, string(semconv.GenAIToolNameKey), kind, string(semconv.McpProtocolVersionKey))
	t.calls = t.Seconds(mcpconv.ClientOperationDuration{}.Name(), "Time that requests to other servers took.", method, upstreamKey, kind)
	t.waits = t.Seconds("toolserver.queue", "Time that calls waited which had to wait for a slot.")
	t.limited = t.Counter("toolserver.rate_limited", "Requests that a limit refused.", "limit")
	t.refusals = t.Counter("toolserver.sandbox.refusals", "What policy refused to calls, by setting.", "rule")
	t.spans = t.Counter("toolserver.spans", "Spans that were sent, could not be sent, or were dropped for want of room.", "result")
	began := float64(time.Now().UnixMilli()) / 1000
	t.Gauge("toolserver.build_info", "Which program this is.", "", func() float64 { return 1 }, "version", t.version, "goversion", runtime.Version())
	t.Gauge("go.goroutines", "Goroutines that there are.", "", func() float64 { return float64(runtime.NumGoroutine()) })
	t.Gauge("process.start_time", "When the process began, since 1970.", "s", func() float64 { return began })
	if stat(rss) > 0 {
		t.Total("process.cpu", "CPU time that the process has used.", "s", func() float64 { return (stat(utime) + stat(stime)) / 100 }) // ticks
		t.Gauge("process.resident_memory", "Resident memory of the process.", "By", func() float64 { return stat(rss) * float64(os.Getpagesize()) })
	}
}

// Fields of what Linux says of a process, from 0 after its name (proc_pid_stat(5)).
const utime, stime, rss = 11, 12, 21

// stat returns such a field; 0 elsewhere.
func stat(field int) float64 {
	text, _ := os.ReadFile("/proc/self/stat")
	if fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]); field < len(fields) {
		n, _ := strconv.ParseFloat(string(fields[field]), 64)
		return n
	}
	return 0
}

// Gauge has a value read whenever somebody asks for the metrics. The unit is "s", "By" or empty. Labels are names and values in turn.
func (t *Telemetry) Gauge(name, help, unit string, value func() float64, labels ...string) {
	if t != nil && t.meter != nil {
		_, err := t.meter.Float64ObservableGauge(name, metric.WithDescription(help), metric.WithUnit(unit), reads(value, labels))
		t.told(err)
	}
}

// Total is [Telemetry.Gauge] for a value that only grows.
func (t *Telemetry) Total(name, help, unit string, value func() float64) {
	if t != nil && t.meter != nil {
		_, err := t.meter.Float64ObservableCounter(name, metric.WithDescription(help), metric.WithUnit(unit), reads(value, nil))
		t.told(err)
	}
}

func reads(value func() float64, labels []string) metric.Float64ObservableOption {
	var all []attribute.KeyValue
	for i := 1; i < len(labels); i += 2 {
		all = append(all, attribute.String(labels[i-1], labels[i]))
	}
	with := metric.WithAttributes(all...)
	return metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
		o.Observe(value(), with)
		return nil
	})
}

// Instrument counts events, or durations in seconds, by the values of labels. It is safe for concurrent use.
type Instrument struct {
	count func(ctx context.Context, n float64, with metric.MeasurementOption)
	keys  []string
	mu    sync.RWMutex
	made  map[[4]string]metric.MeasurementOption // by values: making one costs more than all else
}

// Counter returns what counts by labels, at most four, that have few values, none of which clients choose.
func (t *Telemetry) Counter(name, help string, keys ...string) *Instrument {
	if t == nil || t.meter == nil {
		return nil
	}
	c, err := t.meter.Float64Counter(name, metric.WithDescription(help))
	t.told(err)
	return &Instrument{count: func(ctx context.Context, n float64, with metric.MeasurementOption) { c.Add(ctx, n, with) }, keys: keys}
}

// Seconds is [Telemetry.Counter] for durations. Its boundaries are those of the conventions, after smaller ones: most calls take less.
func (t *Telemetry) Seconds(name, help string, keys ...string) *Instrument {
	if t == nil || t.meter == nil {
		return nil
	}
	h, err := t.meter.Float64Histogram(name, metric.WithDescription(help), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(
		0.0001, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
	t.told(err)
	return &Instrument{count: func(ctx context.Context, n float64, with metric.MeasurementOption) { h.Record(ctx, n, with) }, keys: keys}
}

// Add counts n events, or a duration of n seconds, with values of the labels in their order. Empty ones are left out.
func (i *Instrument) Add(n float64, values ...string) { i.add(context.Background(), n, values...) }

// add is Add with the context of a span, which may become an exemplar.
func (i *Instrument) add(ctx context.Context, n float64, values ...string) {
	if i == nil {
		return
	}
	var key [4]string
	copy(key[:], values)
	i.mu.RLock()
	with := i.made[key]
	i.mu.RUnlock()
	if with == nil {
		with = i.make(key)
	}
	i.count(ctx, n, with)
}

// make returns what has a measurement count for values.
func (i *Instrument) make(key [4]string) metric.MeasurementOption {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.made) >= maxSeries-2 { // the SDK keeps a place, too
		key = [4]string{Other, Other, Other, Other}
	}
	var all []attribute.KeyValue
	for n, name := range i.keys {
		if key[n] != "" {
			all = append(all, attribute.String(name, key[n]))
		}
	}
	if i.made == nil {
		i.made = map[[4]string]metric.MeasurementOption{}
	}
	i.made[key] = metric.WithAttributeSet(attribute.NewSet(all...))
	return i.made[key]
}

// told reports a mistake of the program: nothing else makes an instrument fail.
func (t *Telemetry) told(err error) {
	if err != nil {
		t.failed(err)
	}
}
