import type { ViewProps } from './view.js'

export function Proxies(_: ViewProps) {
  return <h1>Proxies</h1>
}
