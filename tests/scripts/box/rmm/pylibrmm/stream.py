class Stream:
    def __cuda_stream__(self):
        return 0, 0
