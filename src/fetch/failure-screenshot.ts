const screenshots = new WeakMap<Error, Uint8Array>()

/** What the page looked like when this error ended it. */
export function screenshotOf(error: unknown): Uint8Array | null {
  return error instanceof Error ? (screenshots.get(error) ?? null) : null
}

export function keepScreenshot(error: Error, screenshot: Uint8Array | null): void {
  if (screenshot !== null) screenshots.set(error, screenshot)
}
