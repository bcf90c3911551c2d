import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Value } from "../data/types";
import { toNumber } from "../data/numbers";

export interface TableColumn<Row> {
  key: string;
  title: string;
  numeric?: boolean;
  value: (row: Row) => Value | undefined; // what it is ordered by
  show?: (row: Row) => ComponentChildren; // what people see; default: the value
}

interface Order {
  key: string;
  down: boolean;
}

// A table whose heads order its rows. Missing values and NaN go last in both directions.
export function Table<Row>(props: {
  label: string;
  columns: TableColumn<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}) {
  const [order, setOrder] = useState<Order | null>(null);
  const column = props.columns.find((candidate) => candidate.key === order?.key);
  const rows = order && column ? sorted(props.rows, column, order.down) : props.rows;
  const press = (key: string) =>
    setOrder(order?.key !== key ? { key, down: false } : order.down ? null : { key, down: true });
  return (
    <div class="table-scroll">
      <table aria-label={props.label}>
        <thead>
          <tr>
            {props.columns.map((head) => (
              <th
                key={head.key}
                class={head.numeric ? "num" : ""}
                aria-sort={ariaSort(head.key, order)}
              >
                <button type="button" onClick={() => press(head.key)}>
                  {head.title}
                  {order?.key === head.key ? (order.down ? " ↓" : " ↑") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={props.rowKey(row)} data-row={props.rowKey(row)}>
              {props.columns.map((cell) => (
                <td key={cell.key} class={cell.numeric ? "num" : ""} data-col={cell.key}>
                  {cell.show ? cell.show(row) : String(cell.value(row) ?? "–")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ariaSort(key: string, order: Order | null): "ascending" | "descending" | "none" {
  if (order?.key !== key) return "none";
  return order.down ? "descending" : "ascending";
}

export function sorted<Row>(rows: readonly Row[], column: TableColumn<Row>, down: boolean): Row[] {
  const keyed = rows.map((row) => ({ row, key: sortKey(column.value(row)) }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return a.key === b.key ? 0 : a.key === null ? 1 : -1;
    const direction = down ? -1 : 1;
    if (typeof a.key === "number" && typeof b.key === "number")
      return direction * compare(a.key, b.key);
    return direction * String(a.key).localeCompare(String(b.key), undefined, { numeric: true });
  });
  return keyed.map((entry) => entry.row);
}

function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortKey(value: Value | undefined): number | string | null {
  if (value === undefined || value === null || value === "nan") return null;
  if (value === "inf" || value === "-inf" || typeof value === "number") return toNumber(value);
  return String(value);
}
