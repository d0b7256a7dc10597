// Package telemetry measures and traces what a server does, with the SDK and the exporters of OpenTelemetry.
//
// A nil [Telemetry] measures nothing, as do the nil instruments and operations that it returns: that is what there is where
// nothing is configured. Labels and names must come from what the server offers, never from a client.
package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the last that has those of MCP
	"go.opentelemetry.io/otel/trace"
)

// Settings say what is sent where.
type Settings struct {
	OTLP        OTLP     `yaml:"otlp"`
	Sample      *float64 `yaml:"sample" min:"0" max:"1"`
	TrustParent bool     `yaml:"trust_parent"`
}

// OTLP is where OpenTelemetry's own protocol is spoken, over HTTP.
type OTLP struct {
	Endpoint    string `yaml:"endpoint" format:"stand_in"`
	HeadersFile string `yaml:"headers_file" path:"true"`
	Traces      bool   `yaml:"traces"`
	Metrics     bool   `yaml:"metrics"`
}

// Telemetry is what measures and traces.
type Telemetry struct {
	version string
	failed  func(error)
	meters  *sdkmetric.MeterProvider // nil without metrics
	meter   metric.Meter             // likewise
	reader  *sdkmetric.ManualReader  // nil unless they are scraped
	traces  *sdktrace.TracerProvider // nil without traces
	tracer  trace.Tracer
	ratio   float64 // of requests that are traced
	trust   bool    // clients choose instead

	requests, calls, waits, refusals, limited, spans *Instrument
}

const (
	scope         = "github.com/toolserver/toolserver"
	defaultSample = "0.1"
	flushTime     = 2 * time.Second // at the end
	maxSpans      = 2048            // that wait to be sent
	maxSeries     = 2000            // of one metric
)

// Start begins to measure a program, for somebody who asks for the metrics or as the settings and the environment say. It returns nil if
// nobody wants to know. Failed is called when something cannot be sent. The caller closes it.
func Start(s Settings, name, version string, scraped bool, failed func(error)) (*Telemetry, error) {
	sends := (s.OTLP.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "") && os.Getenv("OTEL_SDK_DISABLED") != "true"
	if !sends && !scraped {
		return nil, nil
	}
	t, ctx := &Telemetry{version: version, failed: failed, trust: s.TrustParent}, context.Background()
	headers, err := s.OTLP.Headers()
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(name), semconv.ServiceVersion(version), semconv.ServiceInstanceID(rand.Text())),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	t.told(err) // it has what there is
	otel.SetErrorHandler(otel.ErrorHandlerFunc(failed))
	filter := exemplar.AlwaysOffFilter
	if sends && s.OTLP.Traces && os.Getenv("OTEL_TRACES_EXPORTER") != "none" {
		exporter, err := otlptracehttp.New(ctx, options(s.OTLP, "v1/traces", headers, otlptracehttp.WithEndpointURL, otlptracehttp.WithHeaders)...)
		if err != nil {
			return nil, err
		}
		if t.ratio, err = s.ratio(); err != nil {
			return nil, err
		}
		out := &outbox{telemetry: t}
		out.SpanProcessor = sdktrace.NewBatchSpanProcessor(&sender{exporter, out}, sdktrace.WithMaxQueueSize(maxSpans))
		t.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithSpanProcessor(out), sdktrace.WithSampler(sdktrace.AlwaysSample()))
		t.tracer = t.traces.Tracer(scope, trace.WithInstrumentationVersion(version), trace.WithSchemaURL(semconv.SchemaURL))
		filter = exemplar.TraceBasedFilter
	}
	readers := []sdkmetric.Option{sdkmetric.WithResource(about), sdkmetric.WithExemplarFilter(filter), sdkmetric.WithCardinalityLimit(maxSeries)}
	if scraped {
		t.reader = sdkmetric.NewManualReader()
		readers = append(readers, sdkmetric.WithReader(t.reader))
	}
	if sends = sends && (s.OTLP.Metrics || os.Getenv("OTEL_METRICS_EXPORTER") == "otlp"); sends {
		exporter, err := otlpmetrichttp.New(ctx, options(s.OTLP, "v1/metrics", headers, otlpmetrichttp.WithEndpointURL, otlpmetrichttp.WithHeaders)...)
		if err != nil {
			return nil, err
		}
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	if sends || scraped {
		t.meters = sdkmetric.NewMeterProvider(readers...)
		t.meter = t.meters.Meter(scope, metric.WithInstrumentationVersion(version), metric.WithSchemaURL(semconv.SchemaURL))
	}
	t.measure()
	return t, nil
}

// Close sends what waits, for two seconds at most.
func (t *Telemetry) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if t != nil && t.traces != nil {
		_ = t.traces.Shutdown(ctx) // what fails is told as it would be otherwise
	}
	if t != nil && t.meters != nil {
		_ = t.meters.Shutdown(ctx)
	}
}

// options returns the options of an exporter for what the settings say; the environment says the rest.
func options[O any](s OTLP, path string, headers map[string]string, endpoint func(string) O, with func(map[string]string) O) (all []O) {
	if s.Endpoint != "" {
		at, _ := url.JoinPath(s.Endpoint, path) // it was checked
		all = append(all, endpoint(at))
	}
	if headers != nil {
		all = append(all, with(headers))
	}
	return all
}

// Headers returns the headers of the file, a line each as NAME: VALUE; nil without one.
func (o OTLP) Headers() (headers map[string]string, err error) {
	if o.HeadersFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.HeadersFile)
	headers = map[string]string{}
	for line := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '\r' || r == '\n' }) {
		name, value, ok := strings.Cut(line, ":")
		if headers[strings.TrimSpace(name)] = strings.TrimSpace(value); !ok {
			err = fmt.Errorf("%s has a line that is not NAME: VALUE", o.HeadersFile) // and may be a secret
		}
	}
	return headers, err
}

// ratio returns which part of the requests is traced: as the settings say or, where they do not, the environment.
func (s Settings) ratio() (float64, error) {
	if s.Sample != nil {
		return *s.Sample, nil
	}
	ratios := map[string]string{"": defaultSample, "always_on": "1", "always_off": "0", "traceidratio": cmp.Or(os.Getenv("OTEL_TRACES_SAMPLER_ARG"), "1")}
	ratio, err := strconv.ParseFloat(ratios[strings.TrimPrefix(os.Getenv("OTEL_TRACES_SAMPLER"), "parentbased_")], 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		err = errors.New("OTEL_TRACES_SAMPLER is none of always_on, always_off, and traceidratio with an OTEL_TRACES_SAMPLER_ARG from 0 to 1")
	}
	return ratio, err
}

// samples chooses what is traced: by chance, not by the trace ID, which a client may choose; and by what the client has chosen only
// if clients are trusted. The SDK is not asked, since a span that it drops costs as much as a measurement.
func (t *Telemetry) samples(parent trace.SpanContext) bool {
	if t.trust && parent.IsValid() {
		return parent.IsSampled()
	}
	return mathrand.Float64() < t.ratio
}

// outbox hands ended spans to what sends them in batches, as far as there is room: nobody waits for a collector.
type outbox struct {
	sdktrace.SpanProcessor
	telemetry *Telemetry
	waiting   atomic.Int64
}

// OnEnd takes a span in, or drops it.
func (o *outbox) OnEnd(s sdktrace.ReadOnlySpan) {
	if o.waiting.Add(1) > maxSpans {
		o.waiting.Add(-1)
		o.telemetry.spans.Add(1, "dropped")
		return
	}
	o.SpanProcessor.OnEnd(s)
}

// sender sends the spans of an outbox, and counts them.
type sender struct {
	sdktrace.SpanExporter
	from *outbox
}

// ExportSpans sends a batch.
func (s *sender) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	s.from.waiting.Add(-int64(len(batch)))
	err, result := s.SpanExporter.ExportSpans(ctx, batch), "sent"
	if err != nil {
		result = "failed"
	}
	s.from.telemetry.spans.Add(float64(len(batch)), result)
	return err
}
