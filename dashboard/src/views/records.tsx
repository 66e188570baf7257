import type { ViewProps } from './view.js'

export function Records(_: ViewProps) {
  return <h1>Records</h1>
}
