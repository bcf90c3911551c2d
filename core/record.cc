// Record layout, little-endian:
//
//   record := u8 type | payload        fields in the order of the struct in record.h
//   i32, i64 two's complement; f64 the bits of the double; text := u32 length | bytes
//   vector := u32 count | elements; scalar pair := text key | f64 value
//
// Types are the indices of Record plus one, and never change their meaning; a new field makes a new
// type.

#include "core/record.h"

#include <bit>
#include <type_traits>

#include "core/little_endian.h"
#include "core/strings.h"

namespace normlab {

namespace {

// Appends fields to a buffer.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  void Field(uint32_t value) { PutLittleEndian(out_, value); }
  void Field(int32_t value) { PutLittleEndian(out_, static_cast<uint32_t>(value)); }
  void Field(int64_t value) { PutLittleEndian(out_, static_cast<uint64_t>(value)); }
  void Field(double value) { PutLittleEndian(out_, std::bit_cast<uint64_t>(value)); }
  void Field(const std::string& text) {
    Field(static_cast<uint32_t>(text.size()));
    out_ += text;
  }
  void Field(const std::pair<std::string, double>& pair) {
    Field(pair.first);
    Field(pair.second);
  }
  template <typename T>
  void Field(const std::vector<T>& values) {
    Field(static_cast<uint32_t>(values.size()));
    for (const T& value : values) Field(value);
  }

 private:
  std::string& out_;
};

// Takes fields from a buffer; once one is cut short, everything after it is nothing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  void Field(uint32_t& value) { value = Take<uint32_t>(); }
  void Field(int32_t& value) { value = static_cast<int32_t>(Take<uint32_t>()); }
  void Field(int64_t& value) { value = static_cast<int64_t>(Take<uint64_t>()); }
  void Field(double& value) { value = std::bit_cast<double>(Take<uint64_t>()); }
  void Field(std::string& text) {
    uint32_t size = 0;
    Field(size);
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return;
    text.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }
  void Field(std::pair<std::string, double>& pair) {
    Field(pair.first);
    Field(pair.second);
  }
  template <typename T>
  void Field(std::vector<T>& values) {
    uint32_t count = 0;
    Field(count);
    // Every element takes at least four bytes: a count that lies cannot make us reserve gigabytes.
    if (count > bytes_.size() / 4) ok_ = false;
    for (uint32_t i = 0; ok_ && i < count; ++i) Field(values.emplace_back());
  }
  bool done() const { return ok_ && bytes_.empty(); }

 private:
  template <typename T>
  T Take() {
    if (sizeof(T) > bytes_.size()) ok_ = false;
    if (!ok_) return 0;
    const T value = GetLittleEndian<T>(bytes_.data());
    bytes_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

// The fields of each record, once for both directions.
template <typename Codec, typename... Fields>
void All(Codec& codec, Fields&... fields) {
  (codec.Field(fields), ...);
}

template <typename R, typename T>
concept RecordOf = std::is_same_v<std::remove_const_t<R>, T>;

template <typename Codec, typename R>
void Fields(Codec& c, R& r) {
  if constexpr (RecordOf<R, HelloRecord>) {
    All(c, r.protocol, r.build, r.trainer_math, r.torch, r.isa, r.threads, r.device, r.pid,
        r.resumed_from_step, r.started_at);
  } else if constexpr (RecordOf<R, ScalarsRecord>) {
    All(c, r.step, r.values);
  } else if constexpr (RecordOf<R, ProfileRecord>) {
    All(c, r.step, r.key, r.first_index, r.values);
  } else if constexpr (RecordOf<R, EventRecord>) {
    All(c, r.step, r.kind, r.detail_json);
  } else if constexpr (RecordOf<R, EvalRecord>) {
    All(c, r.step, r.val_loss, r.ppl_of_mean, r.mean_seq_ppl);
  } else if constexpr (RecordOf<R, CheckpointRecord>) {
    All(c, r.step, r.dir, r.sha256, r.bytes);
  } else if constexpr (RecordOf<R, LogLineRecord>) {
    All(c, r.text);
  } else if constexpr (RecordOf<R, LostRecord>) {
    All(c, r.count, r.reason);
  } else {
    static_assert(RecordOf<R, ExitRecord>);
    All(c, r.exit_code, r.signal, r.reason, r.stopped_by, r.max_rss_bytes, r.wall_s, r.cpu_s,
        r.last_lines, r.last_step);
  }
}

// Makes `record` an empty record of the type with this index; false when there is none.
template <size_t... I>
bool MakeType(size_t index, Record& record, std::index_sequence<I...>) {
  return ((index == I ? (record.emplace<I>(), true) : false) || ...);
}

}  // namespace

std::string EncodeRecord(const Record& record) {
  std::string out(1, static_cast<char>(record.index() + 1));
  Writer writer(out);
  std::visit([&writer](const auto& r) { Fields(writer, r); }, record);
  return out;
}

absl::StatusOr<Record> DecodeRecord(std::string_view bytes) {
  if (bytes.empty()) return DataLoss("an empty record");
  const int type = static_cast<uint8_t>(bytes.front());
  Record record;
  // Type 0 wraps round to an index that no record has.
  const size_t index = static_cast<size_t>(type) - 1;
  if (!MakeType(index, record, std::make_index_sequence<std::variant_size_v<Record>>())) {
    return DataLoss("a record of unknown type ", type);
  }
  Reader reader(bytes.substr(1));
  std::visit([&reader](auto& r) { Fields(reader, r); }, record);
  if (!reader.done()) {
    return DataLoss("a record of type ", type, " whose ", bytes.size(), " bytes do not fit it");
  }
  return record;
}

}  // namespace normlab
