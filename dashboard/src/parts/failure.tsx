import type { ApiFailure } from '../api.js'
import { Button } from './button.js'
import { Icon } from './icon.js'

/** The error with its code, and what to do. */
export function Failure({ failure, again }: { readonly failure: ApiFailure; readonly again?: () => void }) {
  return (
    <div class="failure" role="alert">
      <Icon shape="warn" />
      <div>
        <p>
          <bdi>{failure.message}</bdi> <code>{failure.code}</code>
        </p>
        {failure.hint === '' ? null : <p class="muted">{failure.hint}</p>}
      </div>
      {again === undefined ? null : (
        <Button small onClick={again}>
          Try again
        </Button>
      )}
    </div>
  )
}
