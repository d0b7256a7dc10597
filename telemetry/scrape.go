package telemetry

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ServeHTTP serves the metrics as Prometheus reads them.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, open := "text/plain; version=0.0.4; charset=utf-8", strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text")
	if open {
		kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	}
	var all metricdata.ResourceMetrics
	t.told(t.reader.Collect(r.Context(), &all)) // all has what could be had
	p := page{open: open}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			p.family(&m)
		}
	}
	if open {
		p.WriteString("# EOF\n")
	}
	w.Header().Set("Content-Type", kind)
	w.Write(p.Bytes())
}

// page is a text that Prometheus reads.
type page struct {
	bytes.Buffer
	open bool // it is in the form of OpenMetrics, with exemplars and an end
}

// family writes a metric. Its name has the unit, as Prometheus has it.
func (p *page) family(m *metricdata.Metrics) {
	name := strings.ReplaceAll(m.Name, ".", "_") + map[string]string{"s": "_seconds", "By": "_bytes"}[m.Unit]
	family, kind := name, "gauge"
	var values []metricdata.DataPoint[float64]
	var histograms []metricdata.HistogramDataPoint[float64]
	switch data := m.Data.(type) {
	case metricdata.Gauge[float64]:
		values = data.DataPoints
	case metricdata.Sum[float64]:
		values, kind = data.DataPoints, "counter"
		if name += "_total"; !p.open {
			family = name
		}
	case metricdata.Histogram[float64]:
		histograms, kind = data.DataPoints, "histogram"
	}
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", family, m.Description, family, kind)
	for _, d := range values {
		fmt.Fprintf(p, "%s%s %v\n", name, braced(d.Attributes), d.Value)
	}
	for i := range histograms {
		p.histogram(name, &histograms[i])
	}
}

// histogram writes a histogram. A bucket has an exemplar that fell into it.
func (p *page) histogram(name string, d *metricdata.HistogramDataPoint[float64]) {
	exemplars := make([]string, len(d.BucketCounts))
	for _, e := range d.Exemplars {
		if at, _ := slices.BinarySearch(d.Bounds, e.Value); p.open {
			exemplars[at] = fmt.Sprintf(" # {trace_id=\"%x\",span_id=\"%x\"} %v %.3f", e.TraceID, e.SpanID, e.Value, float64(e.Time.UnixMilli())/1000)
		}
	}
	count, labels := uint64(0), braced(d.Attributes)
	for i, bound := range append(slices.Clone(d.Bounds), math.Inf(1)) {
		count += d.BucketCounts[i]
		fmt.Fprintf(p, "%s_bucket%s %d%s\n", name, braced(d.Attributes, fmt.Sprintf(`le="%v"`, bound)), count, exemplars[i])
	}
	fmt.Fprintf(p, "%s_sum%s %v\n%s_count%s %d\n", name, labels, d.Sum, name, labels, count)
}

// braced returns labels as a line has them, after others.
func braced(set attribute.Set, labels ...string) string {
	for _, a := range set.ToSlice() {
		labels = append(labels, strings.ReplaceAll(string(a.Key), ".", "_")+"="+strconv.Quote(a.Value.String()))
	}
	if len(labels) == 0 {
		return ""
	}
	return "{" + strings.Join(labels, ",") + "}"
}
