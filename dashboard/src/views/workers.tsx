import type { ViewProps } from './view.js'

export function Workers(_: ViewProps) {
  return <h1>Workers</h1>
}
