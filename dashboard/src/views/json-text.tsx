import { useState } from 'preact/hooks'
import type { Json } from '../../../src/url/link.js'
import { bytes } from '../format.js'
import { Button } from '../parts/button.js'

/** Characters rendered at first: a value of a megabyte would block the page. */
const SHOWN = 4_000

/** JSON, rendered as text only. */
export function JsonText({ value }: { readonly value: Json }) {
  const [whole, setWhole] = useState(false)
  const text = JSON.stringify(value, null, 2)
  const long = text.length > SHOWN
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre class="json" dir="ltr" tabIndex={0}>
        {long && !whole ? `${text.slice(0, SHOWN)}…` : text}
      </pre>
      {long && !whole ? (
        <Button small onClick={() => setWhole(true)}>
          Show all ({bytes(text.length)})
        </Button>
      ) : null}
    </>
  )
}
