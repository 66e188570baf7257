/** Reads a row as an object, with the names of its columns in order. By place: a pattern that takes a row of twenty apart costs 20 µs. */
export function rowReader<Row extends object>(...names: (keyof Row & string)[]): (row: readonly unknown[]) => Row {
  return (row) => {
    const named: Record<string, unknown> = {}
    for (let index = 0; index < names.length; index++) named[names[index] ?? ''] = row[index]
    return named as Row
  }
}
