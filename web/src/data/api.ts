// Requests to the server that served this page. No other host is ever asked.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

// The document at /api/v1/`path`. ApiError tells what the server said; a server that does not
// answer gives status 0.
export async function getDocument<T>(path: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`/api/v1/${path}`, {
      credentials: "same-origin",
      signal: signal ?? null,
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, "The server does not answer. It may be restarting.");
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, errorMessage(body, response.status));
  return body as T;
}

function errorMessage(body: unknown, status: number): string {
  if (status === 401) return "Not signed in. Run `normlab open` and use the address it prints.";
  if (typeof body === "object" && body !== null && "error" in body) {
    const error = (body as { error: { message?: string } }).error;
    if (error.message) return error.message;
  }
  return `The server answered with status ${status}.`;
}
