#include "server/http/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <utility>

#include "core/version.h"

namespace normlab::server {

struct Metrics::Parts {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>* replies = nullptr;
  prometheus::Histogram* duration = nullptr;
  prometheus::Gauge* live_streams = nullptr;
};

Metrics::Metrics() : parts_(std::make_unique<Parts>()) {
  prometheus::Registry& registry = parts_->registry;
  parts_->replies = &prometheus::BuildCounter()
                         .Name("normlab_http_replies_total")
                         .Help("HTTP requests answered, by status")
                         .Register(registry);
  parts_->duration = &prometheus::BuildHistogram()
                          .Name("normlab_http_reply_seconds")
                          .Help("Time from a request's arrival to its reply being ready")
                          .Register(registry)
                          .Add({}, prometheus::Histogram::BucketBoundaries{0.001, 0.003, 0.01, 0.03,
                                                                           0.1, 0.3, 1, 3, 10});
  parts_->live_streams = &prometheus::BuildGauge()
                              .Name("normlab_live_streams")
                              .Help("Open streams of /api/v1/live")
                              .Register(registry)
                              .Add({});
  prometheus::BuildGauge()
      .Name("normlab_build_info")
      .Help("Always 1; the label says which version runs")
      .Register(registry)
      .Add({{"version", kVersion}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::OnReply(int status, absl::Duration duration) {
  parts_->replies->Add({{"status", std::to_string(status)}}).Increment();
  parts_->duration->Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::SetLiveStreams(int streams) { parts_->live_streams->Set(streams); }

std::string Metrics::Text(const std::vector<GaugeSample>& samples) const {
  std::vector<prometheus::MetricFamily> families = parts_->registry.Collect();
  for (const GaugeSample& sample : samples) {
    if (families.back().name != sample.name) {
      families.emplace_back();
      families.back().name = sample.name;
      families.back().help = sample.help;
      families.back().type = prometheus::MetricType::Gauge;
    }
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    metric.gauge.value = sample.value;
    families.back().metric.push_back(std::move(metric));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace normlab::server
