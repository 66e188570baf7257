import type { ComponentChildren } from 'preact'
import { Foreign } from '../parts/text.js'

/** Names and values, in two columns. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? <Foreign text={value} clip={false} /> : value}</dd>
        </div>
      ))}
    </dl>
  )
}
